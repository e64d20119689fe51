import test from "node:test";
import assert from "node:assert/strict";
import { expectation, overAlpha, overLength, propagated, ratiosFor, runFacts } from "../../../../assets/js/faster/model.js";
import { speedup } from "../../../../assets/js/trace/tally.js";
import { costsOf, speedUp } from "../../../../assets/js/trace/theory.js";
import { FASTER_EN } from "../../../../assets/js/words/en/faster.js";
import { data, read } from "../data.mjs";

const near = (a, b, tol = 1e-12) => assert.ok(Math.abs(a - b) <= tol * Math.max(1, Math.abs(b)), `${a} != ${b}`);

test("draft steps: of this machine by method, of the recording, or carried over", () => {
  const machine = costsOf({ pass_s: { 1: 0.02, 2: 0.02 }, draft_step_s: { draft: 0.004, lookup: null } });
  near(ratiosFor(machine, "draft").c, 0.2);
  near(ratiosFor(machine, "lookup").c, 0);
  near(ratiosFor(machine, "other", 0.3).c, 0.3);
  near(ratiosFor(costsOf({ verify_s: { 1: 0.02 }, draft_step_s: 0.001 }), "draft").c, 0.05);
});

test("a run as a point: rate, interval, both ends propagated, positions against iid", () => {
  const trace = read("sampled"), f = runFacts(trace);
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
  near(mid, speedUp(f.alpha, f.k, 0.1, v(f.k)));
  near(f.positions[1].iid, f.alpha ** 2);
  assert.equal(runFacts({ ...trace, rounds: trace.rounds.slice(0, 1) }), null);
});

test("a tree is no point on a chain's curves: its alpha is that of the first level, its positions are levels", () => {
  const trace = read("sampled");
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

test("every position is told of", () => {
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
  near(speedUp(e.breakEven, 4, 0.1, state.v(4)), 1);
});
