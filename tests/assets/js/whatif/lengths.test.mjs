import test from "node:test";
import assert from "node:assert/strict";
import { byPosition, roundCost, speedup } from "../../../../assets/js/trace/tally.js";
import { lengths } from "../../../../assets/js/whatif/lengths.js";
import { read } from "../data.mjs";

const sampled = read("sampled"), greedy = read("greedy"), tree = read("tree");
const near = (a, b, e = 1e-6) => assert.ok(Math.abs(a - b) < e, `${a} is not ${b}`);

test("acceptance by position and expected tokens by draft length", () => {
  const seen = byPosition(sampled), l = lengths(sampled);
  assert.equal(seen[0].drafted, sampled.rounds.filter((r) => r.drafted.length).length);
  seen.reduce((a, b) => (assert.ok(b.accepted <= a.accepted), b));
  assert.equal(l.rows.length, 10);
  l.rows.reduce((a, b) => (assert.ok(b.tokens >= a.tokens && b.chance <= a.chance + 1e-12), b));
  near(l.rows[3].tokens, 1 + seen.slice(0, 4).reduce((s, x) => s + x.accepted / x.drafted, 0));
  assert.equal(l.rows[4].measured, false);
  assert.equal(l.rows[l.best - 1].speed, Math.max(...l.rows.map((x) => x.speed)));
  assert.equal(lengths({ ...sampled, run: {} }).best, null);
  assert.equal(lengths({ ...sampled, rounds: sampled.rounds.map((r) => ({ ...r, drafted: [] })) }), null);
  assert.equal(byPosition(tree).length, 2);
});

test("a pass that others fill wholly makes every length slower than plain: what the lesson asks for can be reached", () => {
  for (const trace of [sampled, greedy]) {
    assert.ok(lengths(trace).rows[0].speed > 1);
    for (const x of lengths(trace, 1).rows) assert.ok(x.speed < 1 && x.cost >= x.k + 1, `${x.k}: ${x.speed}`);
    lengths(trace, 0.5).rows.forEach((x, i) => assert.ok(x.cost > lengths(trace).rows[i].cost));
  }
});

test("what a round costs is one number: the row of the run's own length is what the headline says", () => {
  for (const trace of [sampled, greedy]) {
    const l = lengths(trace), own = l.rows[l.own - 1], cost = roundCost(trace);
    near(own.cost, cost.cost, 1e-9);
    near(l.cost, cost.cost, 1e-9);
    assert.ok(Math.abs(own.speed / speedup(trace).ratio - 1) < 0.1,   // the whole run's ratio also counts the prompt's pass
      `${own.speed} and ${speedup(trace).ratio}`);
  }
});
