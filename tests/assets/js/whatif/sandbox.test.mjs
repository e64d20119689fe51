import test from "node:test";
import assert from "node:assert/strict";
import { tableFor } from "../../../../assets/js/trace/steps.js";
import { atTemperature, ceiling, dragsTo, judge, pull, sandbox, soften, summary } from "../../../../assets/js/whatif/sandbox.js";
import { read } from "../data.mjs";

const sampled = read("sampled"), greedy = read("greedy");
const near = (a, b, e = 1e-6) => assert.ok(Math.abs(a - b) < e, `${a} is not ${b}`);
const places = sampled.rounds.flatMap((round, r) => round.drafted.map((d, i) => ({ round, r, d, i, table: tableFor(round, i) })));

test("a sandbox holds both distributions whole, the drafted token by name, and the recorded overlap", () => {
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

test("pulling a bar renormalises that distribution and leaves the other", () => {
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
  for (const heated of [hot, cold]) for (const key of ["p", "q"]) near(heated.reduce((s, c) => s + c[key], 0), 1);
  assert.equal(Math.max(...cold.map((c) => c.p)), 1);
  assert.ok(Math.max(...hot.map((c) => c.p)) < 0.9);
  const log = box.all.filter((c) => !box.cats.every((x) => x.id !== c.id));
  const i = box.cats.findIndex((c) => c.id === log[0].id);
  const j = box.cats.findIndex((c) => c.id === log[1].id);
  near(Math.log(hot[i].p / hot[j].p), (log[0].lp - log[1].lp) / 2, 1e-6);
  for (const r of greedy.rounds) r.drafted.forEach((d, k) => assert.ok(atTemperature(sandbox(tableFor(r, k), { drafted: d.id }), 1)));
});

test("how far q alone can be pulled, and in how many drags", () => {
  const cats = [{ p: 0.6, q: 0.1, share: 1 }, { p: 0.3, q: 0.1, share: 1 }, { p: 0.1, q: 0.8, share: 0.2, others: true }];
  near(ceiling(cats), 0.92);
  assert.equal(dragsTo(cats, 0.95), null);
  assert.ok(dragsTo(cats, 0.85) >= 1);
  assert.equal(dragsTo(cats.map((c) => ({ ...c, q: c.p })), 0.9), 0);
});
