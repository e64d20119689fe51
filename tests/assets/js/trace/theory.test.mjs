import test from "node:test";
import assert from "node:assert/strict";
import {
  believable,
  bestLength,
  breakEven,
  costsOf,
  expectedTokens,
  filled,
  floorSeconds,
  passPoints,
  passSeconds,
  ratios,
  speedUp,
  wilson,
} from "../../../../assets/js/trace/theory.js";
import { FASTER_EN } from "../../../../assets/js/words/en/faster.js";
import { data } from "../data.mjs";

const near = (a, b, tol = 1e-12) => assert.ok(Math.abs(a - b) <= tol * Math.max(1, Math.abs(b)), `${a} != ${b}`);

test("the closed forms are core.measuring.theory's", () => {
  assert.ok(data.theory.length > 50);
  for (const { alpha, k, c, v, tokens, speed, even } of data.theory) {
    near(expectedTokens(alpha, k), tokens);
    near(speedUp(alpha, k, c, v), speed);
    const found = breakEven(k, c, v);
    if (even === null) assert.equal(found, null); else near(found, even);
  }
  for (const { alpha, c, v, best } of data.best) {
    const got = bestLength(alpha, c, v);
    assert.equal(got[0], best[0]);
    near(got[1], best[1]);
  }
});

test("Wilson's interval: the textbook's numbers, sane at the ends", () => {
  const [low, high] = wilson(10, 20);
  near(low, 0.2993, 1e-3);
  near(high, 0.7007, 1e-3);
  assert.deepEqual(wilson(0, 0), [0, 1]);
  assert.equal(wilson(0, 30)[0], 0);
  assert.ok(wilson(0, 30)[1] > 0.05);
  near(wilson(30, 30)[1], 1);
});

test("a pass of any length lies between its measured neighbours; rubbish is left out", () => {
  const points = passPoints({ 8: 0.04, 1: 0.02, 2: 0.03, 4: "x", "-1": 3, 1.5: 2, 16: null });
  assert.deepEqual(points, [[1, 0.02], [2, 0.03], [8, 0.04]]);
  near(passSeconds(points, 5), 0.035);
  assert.equal(passSeconds(points, 1), 0.02);
  assert.ok(passSeconds(points, 16) > 0.04);
  assert.equal(passSeconds([], 3), null);
  assert.equal(ratios({ passes: {}, draft: 1 }), null);
  const r = ratios({ passes: { 1: 0.02, 5: 0.03 }, draft: 0.002 });
  near(r.c, 0.1);
  near(r.v(4), 1.5);
  assert.equal(floorSeconds(costsOf({ weights_bytes: 100, memory_bytes_per_s: 50 })), 2);
  assert.equal(floorSeconds(costsOf({})), null);
});

test("times that cannot be true are known, and a little noise is never a pass quicker than one token", () => {
  const points = (passes) => passPoints(passes);
  assert.ok(believable(points({ 1: 0.03, 2: 0.031, 8: 0.036 })) && believable(points({ 1: 0.03, 2: 0.029 })) && believable([]));
  assert.ok(!believable(points({ 1: 0.03, 2: 0.031, 5: 0.024 })));
  near(ratios({ passes: { 1: 0.03, 2: 0.029, 5: 0.033 } }).v(1), 1);
  assert.match(
    FASTER_EN.costs.refused(5, 0.8, false),
    /^Not used: a pass over 5 tokens was timed at 0\.80 times a pass over one.*The recording's costs stay in use/,
  );
});

test("a pass that others fill: as measured at 0, a step for each token at 1", () => {
  const v = (k) => 1 + 0.03 * k;
  near(filled(v, 0)(4), 1.12);
  near(filled(v, 1)(4), 5);
  for (const k of [1, 3, 8]) assert.ok(speedUp(0.9, k, 0, filled(v, 1)(k)) < 1);
});
