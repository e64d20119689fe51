import test from "node:test";
import assert from "node:assert/strict";
import { dotAt } from "../../../../assets/js/watch/speedup_chart.js";

test("the point stands over its place on the chart's axes", () => {
  const axes = { x: [0, 2], y: [0, 100], width: 256 };
  assert.deepEqual(dotAt({ t: 0, n: 0 }, axes), [46, 208]);
  assert.deepEqual(dotAt({ t: 2, n: 100 }, axes), [246, 8]);
  assert.deepEqual(dotAt({ t: 1, n: 50 }, axes), [146, 108]);
});
