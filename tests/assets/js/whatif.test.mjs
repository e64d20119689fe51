import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { makeReader } from "../../../assets/js/trace/trace.js";
import { tableFor } from "../../../assets/js/trace/steps.js";
import {
  agree,
  atTemperature,
  branchRequest,
  byPosition,
  ceiling,
  dragsTo,
  judge,
  lengths,
  outputBefore,
  pull,
  sandbox,
  soften,
  summary,
} from "../../../assets/js/whatif/model.js";
import { simulation, distance } from "../../../assets/js/distributions/acceptance.js";
import { tooMuch } from "../../../assets/js/whatif/branch.js";
import { cleanDetails, given } from "../../../assets/js/watch/settings.js";
import { fitGhost } from "../../../assets/js/watch/text.js";
import { roundCost, speedup } from "../../../assets/js/trace/tally.js";
import { soFar } from "../../../assets/js/watch/stats.js";
import { WHATIF_EN } from "../../../assets/js/words/en/whatif.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8")).traces;
const read = (name) => makeReader().read(data[name].ndjson).trace;
const sampled = read("sampled"), greedy = read("greedy"), tree = read("tree");
const near = (a, b, e = 1e-6) => assert.ok(Math.abs(a - b) < e, `${a} is not ${b}`);
const places = sampled.rounds.flatMap((round, r) => round.drafted.map((d, i) => ({ round, r, d, i, table: tableFor(round, i) })));

test("a sandbox holds both laws whole, the drafted token by name, and the recorded overlap", () => {
  for (const { d, table } of places) {
    const box = sandbox(table, { drafted: d.id }), s = summary(box.cats);
    assert.equal(box.cats[box.at].id, d.id);
    near(box.cats.reduce((x, c) => x + c.p, 0), 1);
    near(box.cats.reduce((x, c) => x + c.q, 0), 1);
    near(s.overlap, table.overlap, 1e-4);
    near(s.residual.reduce((x, y) => x + y, 0), 1);
  }
  assert.equal(sandbox(places[0].table, { drafted: -1 }).at, -1);
  assert.equal(sandbox(null), null);
  assert.equal(sandbox({ ...places[0].table, q: null }), null);
});

test("the rule judges the recorded u as the run did, and another u otherwise", () => {
  let kept = 0;
  for (const { d, table } of places) {
    if (d.verdict === "not_reached") continue;
    const mine = sandbox(table, { drafted: d.id }), cat = { ...mine.cats[mine.at], p: d.p, q: d.q };
    assert.equal(judge(cat, d.u).verdict, d.verdict);
    if (cat.p < cat.q) { assert.equal(judge(cat, 0.9999999).verdict, cat.p / cat.q > 0.9999999 ? "accepted" : "rejected"); kept += 1; }
    else assert.equal(judge(cat, 0.9999999).certain, true);
  }
  assert.ok(kept > 5);
  assert.equal(judge({ p: 0.5, q: 0 }, 0.1).verdict, null);
});

test("pulling a bar renormalises that law and leaves the other", () => {
  const box = sandbox(places[3].table, { drafted: places[3].d.id }), after = pull(box.cats, "q", 0, 0.8);
  near(after[0].q, 0.8);
  near(after.reduce((s, c) => s + c.q, 0), 1);
  assert.deepEqual(after.map((c) => c.p), box.cats.map((c) => c.p));
  const s = summary(pull(box.cats, "p", 0, 1));
  near(s.cats[0].p, 1);
});

test("temperature: exact from the logits, greedy at 0, flat when hot", () => {
  const [a, b] = soften([2, 1], 0.5);
  near(a / b, Math.exp(2));
  assert.deepEqual(soften([1, 3, null], 0), [0, 1, 0]);
  assert.equal(soften([null], 1), null);
  const box = sandbox(places[2].table, { drafted: places[2].d.id }), hot = atTemperature(box, 2), cold = atTemperature(box, 0);
  for (const law of [hot, cold]) { near(law.reduce((s, c) => s + c.p, 0), 1); near(law.reduce((s, c) => s + c.q, 0), 1); }
  assert.equal(Math.max(...cold.map((c) => c.p)), 1);
  assert.ok(Math.max(...hot.map((c) => c.p)) < 0.9);
  const log = box.all.filter((c) => !box.cats.every((x) => x.id !== c.id));
  const i = box.cats.findIndex((c) => c.id === log[0].id);
  const j = box.cats.findIndex((c) => c.id === log[1].id);
  near(Math.log(hot[i].p / hot[j].p), (log[0].lp - log[1].lp) / 2, 1e-6);
  for (const r of greedy.rounds) r.drafted.forEach((d, k) => assert.ok(atTemperature(sandbox(tableFor(r, k), { drafted: d.id }), 1)));
});

test("a thousand rolls land on p", () => {
  const { d, table } = places[5], cats = agree(sandbox(table, { drafted: d.id }).cats), sim = simulation("right", cats, 7);
  sim.more(200000);
  assert.ok(distance(sim.law(), cats.map((c) => c.p)) < 0.01);
});

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

test("how far q alone can be pulled, and in how many drags", () => {
  const cats = [{ p: 0.6, q: 0.1, share: 1 }, { p: 0.3, q: 0.1, share: 1 }, { p: 0.1, q: 0.8, share: 0.2, others: true }];
  near(ceiling(cats), 0.92);
  assert.equal(dragsTo(cats, 0.95), null);
  assert.ok(dragsTo(cats, 0.85) >= 1);
  assert.equal(dragsTo(cats.map((c) => ({ ...c, q: c.p })), 0.9), 0);
});

test("a branch takes the ids before the place, the forced one last, and a second branch keeps what the first was given", () => {
  const r = 5;
  const round = sampled.rounds[r];
  const table = round.tables[1];
  const trace = { ...sampled, run: { ...sampled.run, prompt: "hello", prompt_ids: [1, 2, 3] } };
  const before = outputBefore(trace, r, table.after), got = branchRequest(trace, r, table.after, { forced: { id: 9, text: " x" } });
  assert.deepEqual(got.after_ids, [...trace.rounds.slice(0, r).flatMap((x) => x.emitted.map((e) => e.id)), round.drafted[0].id, 9]);
  assert.equal(got.shown, `${before.map((t) => t.text).join("")} x`);
  assert.equal(got.base, 3);
  const second = { ...trace, run: { ...trace.run, prompt_ids: [1, 2, 3, 40, 41] }, branch: { base: 3, text: "AB" } };
  assert.deepEqual(branchRequest(second, 0, -1, { forced: { id: 7, text: "!" } }).after_ids, [40, 41, 7]);
  assert.equal(branchRequest(second, 0, -1, { forced: { id: 7, text: "!" } }).shown, "AB!");
  assert.deepEqual(branchRequest(trace, r, table.after, { text: "mine" }), {
    prompt: "hello",
    base: 3,
    after_ids: [],
    after_text: "mine",
    shown: "mine",
  });
  assert.match(tooMuch({ after_text: "x".repeat(4001), after_ids: [] }, WHATIF_EN.branch), /4001/);
  assert.match(tooMuch({ after_text: "", after_ids: Array(513).fill(1) }, WHATIF_EN.branch), /513/);
  assert.equal(tooMuch({ after_text: "", after_ids: [1] }, WHATIF_EN.branch), null);
});

test("settings: only clean ones are drawn, only changed ones are sent", () => {
  const [d] = cleanDetails([
    { name: "ngram_max", kind: "int", default: 3, low: 1, high: 16 },
    { name: "<b>", kind: "int" },
    { name: "x", kind: "code" },
    null,
  ]);
  assert.equal(cleanDetails("x").length, 0);
  assert.equal(given(d, "3"), undefined);
  assert.equal(given(d, ""), undefined);
  assert.equal(given(d, "5"), 5);
  assert.equal(given({ kind: "bool", default: false }, true), true);
});

test("the numbers up to a step are those of the rounds so far; at the end there is nothing beside the whole", () => {
  assert.equal(soFar(sampled, { r: sampled.rounds.length - 1 }, true), null);
  const half = soFar(sampled, { r: 8 }, true), fewer = soFar(sampled, { r: 8 }, false);
  assert.ok(half.perRound > 0 && half.ratio > 0 && half.tested <= 1);
  assert.notDeepEqual(half, fewer);
});

test("a ghost over a short word is cut rather than tearing a hole", () => {
  assert.equal(fitGhost(2, false), 5);
  assert.ok(fitGhost(3, true) > fitGhost(3, false) && fitGhost(10, true) > 14);
});
