import test from "node:test";
import assert from "node:assert/strict";
import { ticksTo } from "../../../../assets/js/page/charts.js";

test("round ticks", () => {
  assert.deepEqual(ticksTo(0.07).map((t) => t.toFixed(2)), ["0.00", "0.02", "0.04", "0.06"]);
  assert.deepEqual(ticksTo(4.2), [0, 2, 4]);
});
