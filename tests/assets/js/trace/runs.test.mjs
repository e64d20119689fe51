import test from "node:test";
import assert from "node:assert/strict";
import { cleanRuns } from "../../../../assets/js/trace/runs.js";

test("the list of runs keeps only what has the right shape", () => {
  assert.deepEqual(cleanRuns(null), []);
  assert.deepEqual(cleanRuns([null, 3, { name: "a" }]), []);
  const [r] = cleanRuns([{ name: "a", path: "/x", ratio: "9", tested: NaN, method: { a: 1 }, costs: 7 }]);
  assert.equal(r.ratio, null);
  assert.equal(r.tested, 0);
  assert.deepEqual(r.costs, {});
});
