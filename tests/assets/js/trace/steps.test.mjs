import test from "node:test";
import assert from "node:assert/strict";
import {
  buildSteps,
  closingTable,
  decider,
  draftStates,
  emittedAt,
  likelierDraft,
  openingRound,
  roundSteps,
  settleIndex,
  tableFor,
  testedOrder,
} from "../../../../assets/js/trace/steps.js";
import { stepAt } from "../../../../assets/js/watch/clock.js";
import { read, traces } from "../data.mjs";

const all = Object.fromEntries(Object.keys(traces).map((name) => [name, read(name)]));

test("every round goes draft, one verification, acceptances in order, settle", () => {
  for (const trace of Object.values(all)) {
    trace.rounds.forEach((round, r) => {
      const phases = roundSteps(round, r).map((s) => s.phase).join(" ");
      if (!round.drafted.length) return assert.equal(phases, "settle");
      assert.match(phases, /^(draft )+verify( acceptance)+( settle)?$/);
      assert.equal(phases.split("acceptance").length - 1, testedOrder(round).length);
      assert.equal(phases.endsWith("settle"), settleIndex(round) >= 0);
    });
  }
});

test("tokens are tested left to right up to the first rejection", () => {
  for (const round of all.sampled.rounds.filter((r) => r.drafted.length)) {
    const seen = testedOrder(round).map((i) => round.drafted[i].verdict);
    assert.deepEqual(seen, seen.map((_, i) => (i < seen.length - 1 ? "accepted" : seen.at(-1))));
    assert.deepEqual(testedOrder(round), seen.map((_, i) => i));
  }
});

test("states at each step: hidden, pending, lit, accepted or rejected; text grows with the accepted tokens", () => {
  const round = all.sampled.rounds.find(
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
  for (const trace of Object.values(all)) {
    const { steps, ends } = buildSteps(trace.rounds);
    steps.reduce((a, s) => (assert.ok(s.t >= a - 1e-9), s.t), 0);
    trace.rounds.forEach((r, i) => assert.ok(Math.abs(steps[ends[i]].t - r.elapsed_s) < 1e-6));
    assert.equal(stepAt(steps, 0, -1), 0);
    assert.equal(stepAt(steps, 0, 1e9), steps.length - 1);
  }
});

test("tables belong to their position", () => {
  for (const trace of Object.values(all)) for (const round of trace.rounds) {
    round.drafted.forEach((d, i) => { const t = tableFor(round, i); assert.equal(t.after, d.parent); assert.ok(t.ids.includes(d.id)); });
    const end = settleIndex(round);
    if (end >= 0 && trace !== all.tree) assert.ok(closingTable(round), `round ${round.index}`);
  }
});

test("the page opens at the beginning: the first round that drafted", () => {
  assert.equal(openingRound(all.sampled.rounds), 1);
  assert.equal(openingRound([all.sampled.rounds[0]]), 0);
});

test("an unlikely draft is told from what the draft liked best", () => {
  const d = { u: 0.4, q: 0.008, parent: -1 }, table = { after: -1, texts: ["a", "b"], q: [0.008, 0.34] };
  assert.deepEqual(likelierDraft({ drafted: [d], tables: [table] }, 0), { text: "b", q: 0.34 });
  for (const other of [{ q: 0.34 }, { u: null }, { q: null }, { q: 0.09, u: 0.4, parent: 5 }])
    assert.equal(likelierDraft({ drafted: [{ ...d, ...other }], tables: [table] }, 0), null);
  assert.equal(likelierDraft({ drafted: [d], tables: [{ ...table, q: null }] }, 0), null);
});

test("what decides a round: the first choice, the shared dice, or u", () => {
  const round = (name) => read(name).rounds.find((r) => r.drafted.length);
  assert.deepEqual(["greedy", "coupled", "sampled"].map((name) => decider(round(name))), ["first", "dice", "u"]);
  assert.equal(decider(read("coupled").rounds[0]), "u", "nothing was drafted, nothing decided");
});
