import test from "node:test";
import assert from "node:assert/strict";
import {
  binomialBand,
  categories,
  dice,
  distance,
  distanceBand,
  distributionOf,
  expectedDistance,
  identity,
  logFactorial,
  meanDeviation,
  RULES,
  simulation,
} from "../../../../assets/js/distributions/acceptance.js";
import { PRESETS } from "../../../../assets/js/lossless/tab.js";
import { tableFor } from "../../../../assets/js/trace/steps.js";
import { agree, sandbox } from "../../../../assets/js/whatif/sandbox.js";
import { WHATIF_EN } from "../../../../assets/js/words/en/whatif.js";
import { read } from "../data.mjs";

const sum = (x) => x.reduce((a, b) => a + b, 0);
const { p, q } = PRESETS.disagree, cats = categories(p, q);
const places = read("sampled").rounds.flatMap((round) => round.drafted.map((d, i) => ({ d, table: tableFor(round, i) })));

test("accepted + resampled = p for every preset, to the last bit", () => {
  for (const x of Object.values(PRESETS)) {
    const id = identity(categories(x.p, x.q));
    assert.ok(id.error < 1e-15, String(id.error));
    assert.ok(Math.abs(sum(id.residual) - 1) < 1e-12);
  }
});

test("the exact distributions: right is p, the wrong ones are not, all are distributions", () => {
  for (const rule of RULES) {
    const exact = distributionOf(rule, cats);
    assert.ok(Math.abs(sum(exact) - 1) < 1e-12, rule);
    const d = distance(exact, p);
    assert.ok(rule === "right" ? d < 1e-15 : d > 0.02, `${rule} ${d}`);
  }
  // by hand: p ≥ q accepts leaf .12 and sun .10; the rest, .78, goes to the residual .30/.38 and .08/.38
  const exact = distributionOf("threshold", cats);
  assert.ok(Math.abs(exact[0] - (0.12 + 0.78 * 0.3 / 0.38)) < 1e-12 && exact[1] === 0);
});

test("dice: every rule draws its own exact distribution; the same seed draws the same", () => {
  for (const rule of RULES) {
    const sim = simulation(rule, cats, 5).more(200000), exact = distributionOf(rule, cats);
    assert.ok(distance(sim.shares(), exact) < 0.006, rule);
    assert.equal(sum(sim.accepted) + sum(sim.resampled), 200000);
  }
  const a = simulation("right", cats, 9).more(1000), b = simulation("right", cats, 9).more(400).more(600);
  assert.deepEqual(a.accepted, b.accepted);
  assert.notDeepEqual(a.accepted, simulation("right", cats, 10).more(1000).accepted);
  const roll = dice(1), many = Array.from({ length: 20000 }, roll);
  assert.ok(many.every((u) => u >= 0 && u < 1) && Math.abs(sum(many) / 20000 - 0.5) < 0.01);
});

test("the binomial band and the mean deviation are exact", () => {
  const chance = (k, n, x) => Math.exp(logFactorial(n) - logFactorial(k) - logFactorial(n - k) + k * Math.log(x) + (n - k) * Math.log(1 - x));
  for (const [n, x] of [[100, 0.3], [400, 0.02], [1000, 0.9]]) {
    const [low, high] = binomialBand(n, x);
    let inside = 0, mean = 0;
    for (let k = 0; k <= n; k++) { const c = chance(k, n, x); mean += c * Math.abs(k / n - x); if (k >= low && k <= high) inside += c; }
    assert.ok(inside >= 0.95 && inside < 0.985, `${n} ${x} ${inside}`);
    assert.ok(Math.abs(meanDeviation(n, x) - mean) < 1e-9, `${n} ${x}`);
  }
  assert.deepEqual(binomialBand(50, 0), [0, 0]);
  assert.deepEqual(binomialBand(50, 1), [50, 50]);
  const [low, high] = binomialBand(1000000, 0.5);
  assert.ok(Math.abs(high - low - 2 * 1.96 * 500) < 6);
  assert.ok(Math.abs(expectedDistance(10000, p) / expectedDistance(1000000, p) - 10) < 0.05);   // 1 / sqrt(N)
});

test("the expected distance is that of simulated honest draws, within 1 % from 200 draws on; 95 % of them lie in the band", () => {
  const cats = [
    [0.42, 0.1],
    [0.24, 0.4],
    [0.2, 0.2],
    [0.14, 0.3],
  ].map(([p, q]) => ({ p, q, agreed: Math.min(p, q) }));
  const p = cats.map((c) => c.p);
  const tries = 4000;
  for (const n of [200, 1000]) {
    const found = Array.from({ length: tries }, (_, k) =>
      distance(
        simulation("right", cats, k + 1)
          .more(n)
          .shares(),
        p,
      ),
    );
    const mean = found.reduce((s, x) => s + x, 0) / tries;
    assert.ok(Math.abs(mean / expectedDistance(n, p) - 1) < 0.01 + 2 * 0.45 / Math.sqrt(tries), `${n}: ${mean} and ${expectedDistance(n, p)}`);
    const [low, high] = distanceBand(p, n).map((x) => x / Math.sqrt(n)), inside = found.filter((d) => d >= low && d <= high).length / tries;
    assert.ok(inside > 0.935 && inside < 0.965, `${n}: ${inside}`);
  }
  assert.match(
    WHATIF_EN.roll.result(1000, 0.0454, 0.0234, [0.009, 0.044506]),
    /: 0\.0454\. .* 0\.009 to 0\.0445: about one try in 40 is further off/,
    "outside is outside as it is printed",
  );
  assert.match(WHATIF_EN.roll.result(1000, 0.03, 0.02, [0.01, 0.034]), /off by 0\.02 on average.*0\.01 to 0\.034: what you see is chance alone/);
});

test("a thousand rolls land on p", () => {
  const { d, table } = places[5], cats = agree(sandbox(table, { drafted: d.id }).cats), sim = simulation("right", cats, 7);
  sim.more(200000);
  assert.ok(distance(sim.shares(), cats.map((c) => c.p)) < 0.01);
});
