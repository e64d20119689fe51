import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { makeReader } from "../../../assets/js/trace/trace.js";
import {
  buildSteps,
  draftStates,
  emittedAt,
  likelierDraft,
  openingRound,
  roundSteps,
  settleIndex,
  verdictOrder,
  closingTable,
  tableFor,
} from "../../../assets/js/trace/steps.js";
import { plainTimes, speedup, tally } from "../../../assets/js/trace/tally.js";
import { dueAfter, stepAt } from "../../../assets/js/watch/clock.js";
import { treeLayout } from "../../../assets/js/watch/tree.js";
import { lanes, clockWindow } from "../../../assets/js/watch/timeline.js";
import { dotAt, raceLines, raceNow } from "../../../assets/js/watch/speedup_chart.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8")).traces;
const traces = Object.fromEntries(Object.entries(data).map(([k, v]) => [k, makeReader().read(v.ndjson).trace]));

test("every round goes draft, one verification, verdicts in order, settle", () => {
  for (const trace of Object.values(traces)) {
    trace.rounds.forEach((round, r) => {
      const phases = roundSteps(round, r).map((s) => s.phase).join(" ");
      if (!round.drafted.length) return assert.equal(phases, "settle");
      assert.match(phases, /^(draft )+verify( verdict)+( settle)?$/);
      assert.equal(phases.split("verdict").length - 1, verdictOrder(round).length);
      assert.equal(phases.endsWith("settle"), settleIndex(round) >= 0);
    });
  }
});

test("verdicts fall left to right and stop at the first rejection", () => {
  for (const round of traces.sampled.rounds.filter((r) => r.drafted.length)) {
    const seen = verdictOrder(round).map((i) => round.drafted[i].verdict);
    assert.deepEqual(seen, seen.map((_, i) => (i < seen.length - 1 ? "accepted" : seen.at(-1))));
    assert.deepEqual(verdictOrder(round), seen.map((_, i) => i));
  }
});

test("states at each step: hidden, pending, lit, verdict; text grows with the verdicts", () => {
  const round = traces.sampled.rounds.find(
    (r) => r.drafted.length === 4 && r.drafted[1].verdict === "rejected" && r.drafted[0].verdict === "accepted",
  );
  const steps = roundSteps(round, 3);
  assert.deepEqual(draftStates(round, steps[0]), ["pending", "hidden", "hidden", "hidden"]);
  assert.deepEqual(draftStates(round, steps[4]), ["lit", "lit", "lit", "lit"]);
  assert.deepEqual(draftStates(round, steps[5]), ["accepted", "lit", "lit", "lit"]);
  assert.deepEqual(draftStates(round, steps.at(-1)), ["accepted", "rejected", "not_reached", "not_reached"]);
  assert.deepEqual(steps.map((s) => emittedAt(round, s)), [0, 0, 0, 0, 0, 1, 1, 2]);
});

test("time never runs backwards, and a round ends when the record says", () => {
  for (const trace of Object.values(traces)) {
    const { steps, ends } = buildSteps(trace.rounds);
    steps.reduce((a, s) => (assert.ok(s.t >= a - 1e-9), s.t), 0);
    trace.rounds.forEach((r, i) => assert.ok(Math.abs(steps[ends[i]].t - r.elapsed_s) < 1e-6));
    assert.equal(stepAt(steps, 0, -1), 0);
    assert.equal(stepAt(steps, 0, 1e9), steps.length - 1);
  }
});

test("tables belong to their position", () => {
  for (const trace of Object.values(traces)) for (const round of trace.rounds) {
    round.drafted.forEach((d, i) => { const t = tableFor(round, i); assert.equal(t.after, d.parent); assert.ok(t.ids.includes(d.id)); });
    const end = settleIndex(round);
    if (end >= 0 && trace !== traces.tree) assert.ok(closingTable(round), `round ${round.index}`);
  }
});

test("counts agree with the record's own totals", () => {
  for (const [name, trace] of Object.entries(traces)) {
    const t = tally(trace), own = data[name].file.totals;
    assert.deepEqual([t.tokens, t.drafted, t.accepted, t.tested], [own.new_tokens, own.drafted, own.accepted, own.tested]);
    assert.ok(Math.abs(t.perRound - own.tokens_per_round) < 1e-9);
    assert.ok(Math.abs(t.perSecond - own.tokens_per_s) < 1e-6);
    assert.ok(Math.abs(t.testedRate - own.tested_rate) < 1e-9);
  }
});

test("speed-up: measured once plain has run, an estimate before, nothing without a step cost", () => {
  const trace = traces.sampled, own = data.sampled.file;
  const measured = speedup(trace);
  assert.equal(measured.measured, true);
  assert.ok(Math.abs(measured.ratio - (own.plain.ttft_s + own.plain.decode_s) / (own.totals.ttft_s + own.totals.decode_s)) < 1e-9);
  const before = speedup({ ...trace, plain: null, totals: null });
  assert.equal(before.measured, false);
  assert.ok(Math.abs(before.ratio - measured.ratio) < 0.02);
  assert.equal(speedup({ ...trace, plain: null, run: {} }).ratio, null);
  assert.equal(speedup({ ...trace, rounds: [] }).ratio, null);
  const shorter = { ...trace, plain: { elapsed_s: trace.plain.elapsed_s.slice(0, 20) } };
  assert.equal(speedup(shorter).tokens, 20, "the same number of tokens on both sides");
  assert.equal(plainTimes(shorter, 50).measured, true);
});

test("the page opens at the beginning: the first round that drafted", () => {
  assert.equal(openingRound(traces.sampled.rounds), 1);
  assert.equal(openingRound([traces.sampled.rounds[0]]), 0);
});

test("to read along, steps come one at a time at their pace, however late a frame is", () => {
  let due = 0, moves = 0;
  for (let ms = 0; ms < 5000; ms += 50) { const got = dueAfter(due, 0.05, 1); due = got.due; moves += got.move; }
  assert.ok(Math.abs(moves - 5) <= 1, `${moves} steps in five seconds at one a second`);
  assert.deepEqual(dueAfter(0.5, 60, 4), { move: true, due: 0.5 });
});

test("an unlikely draft is told from what the draft liked best", () => {
  const d = { u: 0.4, q: 0.008, parent: -1 }, table = { after: -1, texts: ["a", "b"], q: [0.008, 0.34] };
  assert.deepEqual(likelierDraft({ drafted: [d], tables: [table] }, 0), { text: "b", q: 0.34 });
  for (const other of [{ q: 0.34 }, { u: null }, { q: null }, { q: 0.09, u: 0.4, parent: 5 }])
    assert.equal(likelierDraft({ drafted: [{ ...d, ...other }], tables: [table] }, 0), null);
  assert.equal(likelierDraft({ drafted: [d], tables: [{ ...table, q: null }] }, 0), null);
});

test("a tree's layout gives every leaf its own row", () => {
  const round = traces.tree.rounds.find((r) => r.drafted.length > 4), l = treeLayout(round);
  const parents = new Set(round.drafted.map((d) => d.parent)), leaves = round.drafted.map((_, i) => i).filter((i) => !parents.has(i));
  assert.equal(new Set(leaves.map((i) => l.y[i])).size, leaves.length);
  assert.equal(l.rows, leaves.length);
});

test("lanes lie inside their rounds and on one clock", () => {
  const trace = traces.sampled, [from, to] = clockWindow(trace, 10, false), l = lanes(trace, from, to);
  assert.ok(to > from && l.draft.length && l.target.length && l.plain.length);
  for (const s of [...l.draft, ...l.target])
    assert.ok(s.a >= (trace.rounds[s.r - 1]?.elapsed_s ?? 0) - 1e-9 && s.b <= trace.rounds[s.r].elapsed_s + 1e-9);
  const { steps, ends } = buildSteps(trace.rounds), race = raceLines(trace), now = raceNow(race, trace, steps[ends[5]]);
  assert.equal(now.n, trace.rounds.slice(0, 6).reduce((n, r) => n + r.emitted.length, 0));
  assert.equal(now.plain.tokens, trace.plain.elapsed_s.filter((t) => t <= trace.rounds[5].elapsed_s).length);
  assert.equal(race.spec.y.at(-1), tally(trace).tokens);
});

test("the point stands over its place on the chart's axes", () => {
  const axes = { x: [0, 2], y: [0, 100], width: 256 };
  assert.deepEqual(dotAt({ t: 0, n: 0 }, axes), [46, 208]);
  assert.deepEqual(dotAt({ t: 2, n: 100 }, axes), [246, 8]);
  assert.deepEqual(dotAt({ t: 1, n: 50 }, axes), [146, 108]);
});
