import test from "node:test";
import assert from "node:assert/strict";
import { dueAfter } from "../../../../assets/js/watch/clock.js";

test("to read along, steps come one at a time at their pace, however late a frame is", () => {
  let due = 0, moves = 0;
  for (let ms = 0; ms < 5000; ms += 50) { const got = dueAfter(due, 0.05, 1); due = got.due; moves += got.move; }
  assert.ok(Math.abs(moves - 5) <= 1, `${moves} steps in five seconds at one a second`);
  assert.deepEqual(dueAfter(0.5, 60, 4), { move: true, due: 0.5 });
});
