import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as theory from "../../../assets/js/trace/theory.js";
import { expectation, overAlpha, overLength, propagated, ratiosFor, runFacts } from "../../../assets/js/faster/model.js";
import { speedup } from "../../../assets/js/trace/tally.js";
import { FASTER_EN } from "../../../assets/js/words/en/faster.js";
import { makeReader } from "../../../assets/js/trace/trace.js";

// Made by tests/spec_ui/test_explain_js.py from core.measuring.theory and spec_ui.server.run_list.
const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8"));
data.ndjson = data.traces.sampled.ndjson;
const near = (a, b, tol = 1e-12) => assert.ok(Math.abs(a - b) <= tol * Math.max(1, Math.abs(b)), `${a} != ${b}`);

test("the closed forms are core.measuring.theory's", () => {
  assert.ok(data.theory.length > 50);
  for (const { alpha, k, c, v, tokens, speed, even } of data.theory) {
    near(theory.expectedTokens(alpha, k), tokens);
    near(theory.speedUp(alpha, k, c, v), speed);
    const found = theory.breakEven(k, c, v);
    if (even === null) assert.equal(found, null); else near(found, even);
  }
  for (const { alpha, c, v, best } of data.best) {
    const got = theory.bestLength(alpha, c, v);
    assert.equal(got[0], best[0]);
    near(got[1], best[1]);
  }
});

test("Wilson's interval: the textbook's numbers, sane at the ends", () => {
  const [low, high] = theory.wilson(10, 20);
  near(low, 0.2993, 1e-3);
  near(high, 0.7007, 1e-3);
  assert.deepEqual(theory.wilson(0, 0), [0, 1]);
  assert.equal(theory.wilson(0, 30)[0], 0);
  assert.ok(theory.wilson(0, 30)[1] > 0.05);
  near(theory.wilson(30, 30)[1], 1);
});

test("a pass of any length lies between its measured neighbours; rubbish is left out", () => {
  const points = theory.passPoints({ 8: 0.04, 1: 0.02, 2: 0.03, 4: "x", "-1": 3, 1.5: 2, 16: null });
  assert.deepEqual(points, [[1, 0.02], [2, 0.03], [8, 0.04]]);
  near(theory.passSeconds(points, 5), 0.035);
  assert.equal(theory.passSeconds(points, 1), 0.02);
  assert.ok(theory.passSeconds(points, 16) > 0.04);
  assert.equal(theory.passSeconds([], 3), null);
  assert.equal(theory.ratios({ passes: {}, draft: 1 }), null);
  const r = theory.ratios({ passes: { 1: 0.02, 5: 0.03 }, draft: 0.002 });
  near(r.c, 0.1);
  near(r.v(4), 1.5);
  assert.equal(theory.floorSeconds(theory.costsOf({ weights_bytes: 100, memory_bytes_per_s: 50 })), 2);
  assert.equal(theory.floorSeconds(theory.costsOf({})), null);
});

test("times that cannot be true are known, and a little noise is never a pass quicker than one token", () => {
  const points = (passes) => theory.passPoints(passes);
  assert.ok(theory.believable(points({ 1: 0.03, 2: 0.031, 8: 0.036 })) && theory.believable(points({ 1: 0.03, 2: 0.029 })) && theory.believable([]));
  assert.ok(!theory.believable(points({ 1: 0.03, 2: 0.031, 5: 0.024 })));
  near(theory.ratios({ passes: { 1: 0.03, 2: 0.029, 5: 0.033 } }).v(1), 1);
  assert.match(
    FASTER_EN.costs.refused(5, 0.8, false),
    /^Not used: a pass over 5 tokens was timed at 0\.80 times a pass over one.*The recording's costs stay in use/,
  );
});

test("draft steps: of this machine by method, of the recording, or carried over", () => {
  const machine = theory.costsOf({ pass_s: { 1: 0.02, 2: 0.02 }, draft_step_s: { draft: 0.004, lookup: null } });
  near(ratiosFor(machine, "draft").c, 0.2);
  near(ratiosFor(machine, "lookup").c, 0);
  near(ratiosFor(machine, "other", 0.3).c, 0.3);
  near(ratiosFor(theory.costsOf({ verify_s: { 1: 0.02 }, draft_step_s: 0.001 }), "draft").c, 0.05);
});

test("a run as a point: rate, interval, both ends propagated, positions against iid", () => {
  const trace = makeReader().read(data.ndjson).trace, f = runFacts(trace);
  assert.equal(f.tested, data.entry.tested);
  assert.equal(f.accepted, data.entry.accepted);
  assert.ok(f.interval[0] < f.alpha && f.alpha < f.interval[1]);
  near(f.headline, data.entry.ratio, 1e-9);
  const e = trace.plain.elapsed_s;
  const t = trace.rounds.at(-1).elapsed_s;
  const n = trace.rounds.reduce((s, r) => s + r.emitted.length, 0);   // the prompt's pass left out
  near(f.measured, (e[Math.min(n, e.length) - 1] - e[0]) / (t - trace.rounds[0].elapsed_s), 1e-9);
  near(f.cost.cost, data.entry.cost, 1e-9);
  near(speedup(trace).ratio, data.entry.ratio, 1e-9);
  const v = (k) => 1 + 0.01 * k, [low, mid, high] = propagated(f, { c: 0.1, v });
  assert.ok(low < mid && mid < high);
  near(mid, theory.speedUp(f.alpha, f.k, 0.1, v(f.k)));
  near(f.positions[1].iid, f.alpha ** 2);
  assert.equal(runFacts({ ...trace, rounds: trace.rounds.slice(0, 1) }), null);
});

test("a tree is no point on a chain's curves: its alpha is that of the first level, its positions are levels", () => {
  const trace = makeReader().read(data.ndjson).trace;
  const round = trace.rounds.find((r) => r.drafted.length > 1);
  const token = { ...round.drafted[0], parent: -1 };
  const tree = {
    ...round,
    drafted: [
      { ...token, verdict: "rejected" },
      { ...token, verdict: "accepted" },
      { ...token, parent: 1, verdict: "rejected" },
    ],
  };
  const f = runFacts({ ...trace, rounds: [trace.rounds[0], tree] });
  assert.ok(f.tree && !runFacts(trace).tree);
  assert.deepEqual(f.positions.map((x) => [x.drafted, x.accepted]), [[1, 1], [1, 0]]);
  near(f.alpha, 1);
  assert.match(FASTER_EN.model.todayTree(f), /no point in these charts/);
});

test("a pass that others fill: as measured at 0, a step for each token at 1", () => {
  const v = (k) => 1 + 0.03 * k;
  near(theory.filled(v, 0)(4), 1.12);
  near(theory.filled(v, 1)(4), 5);
  for (const k of [1, 3, 8]) assert.ok(theory.speedUp(0.9, k, 0, theory.filled(v, 1)(k)) < 1);
});

test("every position is judged", () => {
  const at = (share, iid, interval) => ({ share, iid, interval });
  assert.match(FASTER_EN.position.sentence([at(0.5, 0.5, [0.4, 0.6]), at(0.25, 0.25, [0.1, 0.4])]), /^At every position/);
  assert.match(
    FASTER_EN.position.sentence([at(0.5, 0.5, [0.4, 0.6]), at(0.5, 0.25, [0.4, 0.6]), at(0.5, 0.1, [0.4, 0.6])]),
    /^At positions 2, 3 more is accepted/,
  );
});

test("the curves and the numbers beside them are the same function", () => {
  const state = { alpha: 0.6, k: 4, c: 0.1, v: (k) => 1 + 0.03 * k }, e = expectation(state);
  near(e.speed, overLength(state)[3].speed);
  near(overAlpha(state, 10)[6].speed, e.speed);
  near(e.yields / e.all, e.speed);
  near(theory.speedUp(e.breakEven, 4, 0.1, state.v(4)), 1);
});
