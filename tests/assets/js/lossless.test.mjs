import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as m from "../../../assets/js/distributions/acceptance.js";
import { bandAt, CHECKPOINTS } from "../../../assets/js/lossless/dice.js";
import { openingPlace, positions } from "../../../assets/js/lossless/recorded.js";
import { PRESETS, resize } from "../../../assets/js/lossless/tab.js";
import { makeReader } from "../../../assets/js/trace/trace.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8"));
data.ndjson = data.traces.sampled.ndjson;
const sum = (x) => x.reduce((a, b) => a + b, 0);
const { p, q } = PRESETS.disagree, cats = m.categories(p, q);

test("laws stay laws however they are pulled", () => {
  for (const law of [p, [1, 0, 0], [0, 0, 1]]) for (const x of [-1, 0, 0.3, 1, 9]) for (let i = 0; i < law.length; i++) {
    const next = m.setWeight(law, i, x);
    assert.ok(Math.abs(sum(next) - 1) < 1e-12 && next.every((y) => y >= 0));
    assert.equal(next[i], Math.min(1, Math.max(0, x)));
  }
  assert.deepEqual(m.normalise([0, 0]), [0.5, 0.5]);
  for (const n of [3, 4, 5, 6]) assert.ok(Math.abs(sum(resize(p, n)) - 1) < 1e-12);
  for (const x of Object.values(PRESETS)) assert.ok(Math.abs(sum(x.p) - 1) < 1e-9 && Math.abs(sum(x.q) - 1) < 1e-9 && x.p.length === x.q.length);
});

test("kept + resampled = p for every preset, to the last bit", () => {
  for (const x of Object.values(PRESETS)) {
    const id = m.identity(m.categories(x.p, x.q));
    assert.ok(id.error < 1e-15, String(id.error));
    assert.ok(Math.abs(sum(id.residual) - 1) < 1e-12);
  }
});

test("the exact laws: right is p, the broken ones are not, all are laws", () => {
  for (const rule of m.RULES) {
    const law = m.lawOf(rule, cats);
    assert.ok(Math.abs(sum(law) - 1) < 1e-12, rule);
    const d = m.distance(law, p);
    assert.ok(rule === "right" ? d < 1e-15 : d > 0.02, `${rule} ${d}`);
  }
  // by hand: p ≥ q keeps leaf .12 and sun .10; the rest, .78, goes to the residual .30/.38 and .08/.38
  const law = m.lawOf("threshold", cats);
  assert.ok(Math.abs(law[0] - (0.12 + 0.78 * 0.3 / 0.38)) < 1e-12 && law[1] === 0);
});

test("dice: every rule draws its own exact law; the same seed draws the same", () => {
  for (const rule of m.RULES) {
    const sim = m.simulation(rule, cats, 5).more(200000), law = m.lawOf(rule, cats);
    assert.ok(m.distance(sim.law(), law) < 0.006, rule);
    assert.equal(sum(sim.kept) + sum(sim.resampled), 200000);
  }
  const a = m.simulation("right", cats, 9).more(1000), b = m.simulation("right", cats, 9).more(400).more(600);
  assert.deepEqual(a.kept, b.kept);
  assert.notDeepEqual(a.kept, m.simulation("right", cats, 10).more(1000).kept);
  const roll = m.dice(1), many = Array.from({ length: 20000 }, roll);
  assert.ok(many.every((u) => u >= 0 && u < 1) && Math.abs(sum(many) / 20000 - 0.5) < 0.01);
});

test("the binomial band and the mean deviation are exact", () => {
  const chance = (k, n, x) => Math.exp(m.logFactorial(n) - m.logFactorial(k) - m.logFactorial(n - k) + k * Math.log(x) + (n - k) * Math.log(1 - x));
  for (const [n, x] of [[100, 0.3], [400, 0.02], [1000, 0.9]]) {
    const [low, high] = m.binomialBand(n, x);
    let inside = 0, mean = 0;
    for (let k = 0; k <= n; k++) { const c = chance(k, n, x); mean += c * Math.abs(k / n - x); if (k >= low && k <= high) inside += c; }
    assert.ok(inside >= 0.95 && inside < 0.985, `${n} ${x} ${inside}`);
    assert.ok(Math.abs(m.meanDeviation(n, x) - mean) < 1e-9, `${n} ${x}`);
  }
  assert.deepEqual(m.binomialBand(50, 0), [0, 0]);
  assert.deepEqual(m.binomialBand(50, 1), [50, 50]);
  const [low, high] = m.binomialBand(1000000, 0.5);
  assert.ok(Math.abs(high - low - 2 * 1.96 * 500) < 6);
  assert.ok(Math.abs(m.expectedDistance(10000, p) / m.expectedDistance(1000000, p) - 10) < 0.05);   // 1 / sqrt(N)
});

test("about 95 % of honest runs lie in the band of the distance", () => {
  const bands = { first: m.distanceBand(p, 100, 600), limit: m.distanceBand(p) };
  for (const n of [100, 3000]) {
    let inside = 0;
    for (let seed = 0; seed < 300; seed++) {
      const d = m.distance(m.simulation("right", cats, seed).more(n).law(), p), [low, high] = bandAt(bands, n);
      if (d >= low && d <= high) inside += 1;
    }
    assert.ok(inside >= 270 && inside <= 298, `${n}: ${inside}`);
  }
  assert.equal(CHECKPOINTS[0], 100);
  assert.equal(CHECKPOINTS.at(-1), 1000000);
});

test("a real position: its tokens and all others are two laws, with the recorded overlap", () => {
  const trace = makeReader().read(data.ndjson).trace;
  let seen = 0;
  for (const round of trace.rounds) for (const { cats: c, table } of positions(round)) {
    seen += 1;
    assert.ok(Math.abs(sum(c.map((x) => x.p)) - 1) < 1e-9 && Math.abs(sum(c.map((x) => x.q)) - 1) < 1e-9);
    assert.ok(c.length <= 7 && c.every((x) => x.agreed <= Math.min(x.p, x.q) + 1e-12));
    assert.ok(Math.abs(m.overlap(c) - table.overlap) < 1e-5);
    assert.ok(m.identity(c).error < 1e-15);
    assert.ok(m.distance(m.lawOf("right", c), c.map((x) => x.p)) < 1e-12);
  }
  assert.ok(seen > 20);
  const at = openingPlace(trace);
  assert.notEqual(trace.rounds[at.r].drafted[at.i].verdict, "not_reached");
  assert.equal(m.fromTable({ q: null, p: [1], ids: [1], texts: ["a"], others: {} }), null);
});
