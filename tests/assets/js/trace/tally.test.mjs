import test from "node:test";
import assert from "node:assert/strict";
import { byPosition, plainTimes, speedup, tally } from "../../../../assets/js/trace/tally.js";
import { makeReader } from "../../../../assets/js/trace/trace.js";
import { read, traces } from "../data.mjs";

const all = Object.fromEntries(Object.keys(traces).map((name) => [name, read(name)]));

test("counts agree with the record's own totals", () => {
  for (const [name, trace] of Object.entries(all)) {
    const t = tally(trace), own = traces[name].file.totals;
    assert.deepEqual([t.tokens, t.drafted, t.accepted, t.tested], [own.new_tokens, own.drafted, own.accepted, own.tested]);
    assert.ok(Math.abs(t.perRound - own.tokens_per_round) < 1e-9);
    assert.ok(Math.abs(t.perSecond - own.tokens_per_s) < 1e-6);
    assert.ok(Math.abs(t.testedRate - own.tested_rate) < 1e-9);
  }
});

test("what a grammar forces counts as a token, and for no draft", () => {
  const made = (id, forced, parent, verdict = "accepted") =>
    ({ id, text: "x", parent, p: 1, q: 1, u: null, threshold: 1, verdict, ...(forced ? { forced } : {}) });
  const round = { drafted: [made(1, true, -1), made(2, false, 0), made(3, true, 1), made(4, false, 2, "rejected")],
    emitted: [1, 2, 3, 5].map((id) => ({ id, text: "x", kind: id === 5 ? "recovered" : "accepted", ...(id % 2 ? { forced: true } : {}) })),
    tables: [] };
  const { trace } = makeReader().read(JSON.stringify({ version: 1, run: {}, rounds: [round] }));
  const t = tally(trace);
  assert.deepEqual([t.tokens, t.drafted, t.accepted, t.tested, t.perRound], [4, 2, 1, 2, 4]);
  assert.deepEqual(byPosition(trace), [{ drafted: 1, accepted: 1 }, { drafted: 1, accepted: 0 }]);
  assert.deepEqual(trace.rounds[0].emitted.map((e) => Boolean(e.forced)), [true, false, true, true]);
});

test("speed-up: measured once plain has run, an estimate before, nothing without a step cost", () => {
  const trace = all.sampled, own = traces.sampled.file;
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
