import test from "node:test";
import assert from "node:assert/strict";
import { normalise, setWeight } from "../../../../assets/js/distributions/acceptance.js";
import { PRESETS, resize } from "../../../../assets/js/lossless/tab.js";

const sum = (x) => x.reduce((a, b) => a + b, 0);
const { p } = PRESETS.disagree;

test("distributions stay distributions however they are pulled", () => {
  for (const probs of [p, [1, 0, 0], [0, 0, 1]]) for (const x of [-1, 0, 0.3, 1, 9]) for (let i = 0; i < probs.length; i++) {
    const next = setWeight(probs, i, x);
    assert.ok(Math.abs(sum(next) - 1) < 1e-12 && next.every((y) => y >= 0));
    assert.equal(next[i], Math.min(1, Math.max(0, x)));
  }
  assert.deepEqual(normalise([0, 0]), [0.5, 0.5]);
  for (const n of [3, 4, 5, 6]) assert.ok(Math.abs(sum(resize(p, n)) - 1) < 1e-12);
  for (const x of Object.values(PRESETS)) assert.ok(Math.abs(sum(x.p) - 1) < 1e-9 && Math.abs(sum(x.q) - 1) < 1e-9 && x.p.length === x.q.length);
});
