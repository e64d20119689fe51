import test from "node:test";
import assert from "node:assert/strict";
import { laneOf, laneRate, plainLane, reached, sameStart } from "../../../../assets/js/methods/race_model.js";
import { makeReader } from "../../../../assets/js/trace/trace.js";
import { read, traces } from "../data.mjs";

const trace = read("sampled");

// The same run, its plain run with these texts.
const saying = (texts) => makeReader().read(traces.sampled.ndjson.trim().split("\n").map((line) => {
  const x = JSON.parse(line);
  return x.plain ? JSON.stringify({ ...x, plain: { ...x.plain, texts } }) : line;
}).join("\n") + "\n").trace;

test("lanes: every token when its round was there; plain from its own times", () => {
  const lane = laneOf("x", trace);
  assert.equal(lane.tokens.length, trace.rounds.reduce((s, r) => s + r.emitted.length, 0));
  assert.equal(reached(lane.tokens, 0), 0);
  assert.equal(reached(lane.tokens, lane.end), lane.tokens.length);
  assert.equal(reached(lane.tokens, trace.rounds[2].elapsed_s, 1), trace.rounds.slice(0, 3).reduce((s, r) => s + r.emitted.length, 0));
  assert.equal(reached(lane.tokens, 0, 9), 0);
  const plain = plainLane("plain", trace);
  assert.equal(plain.tokens.length, trace.plain.elapsed_s.length);
  assert.equal(plain.texts, false);   // an older file; sampled: its text was another draw
  const words = trace.plain.elapsed_s.map((_, i) => `w${i}`);
  assert.deepEqual(plainLane("plain", saying(words)).tokens.map((t) => t.text), words);
  assert.equal(plainLane("plain", saying(words.slice(1))).texts, false);
  assert.equal(plainLane("plain", { ...trace, plain: null }), null);
});

test("the race: the same tokens for all, each beside its own plain decoding, places as the speed-ups", () => {
  const slow = {
    ...trace,
    rounds: trace.rounds.map((r) => ({ ...r, elapsed_s: 3 * r.elapsed_s })),
    plain: { ...trace.plain, elapsed_s: trace.plain.elapsed_s.map((t) => 3 * t) },
  };
  const short = { ...trace, rounds: trace.rounds.slice(0, 9) }, n = short.rounds.reduce((s, r) => s + r.emitted.length, 0);
  const race = sameStart([
    { lane: laneOf("a", trace), trace },
    { lane: laneOf("slow machine", slow), trace: slow },
    { lane: laneOf("short", short), trace: short },
    { plain: true, lane: plainLane("plain", trace), trace },
  ]);
  assert.equal(race.tokens, n);
  assert.ok(race.stretched && race.lanes.every((x) => x.lane.tokens.length === n));
  const [a, b, c, plain] = race.lanes;
  for (const x of [b, c])
    assert.ok(Math.abs(x.lane.end - a.lane.end) < 1e-9 && Math.abs(x.ratio - a.ratio) < 1e-9, "a machine three times as slow changes nothing");
  assert.ok(Math.abs(laneRate(a.lane) / laneRate(plain.lane) - a.ratio) < 1e-9);
  assert.equal(plain.ratio, 1);
  const alone = sameStart([{ lane: laneOf("a", { ...trace, plain: null }), trace: { ...trace, plain: null } }]);
  assert.deepEqual([alone.lanes[0].stretch, alone.lanes[0].ratio, alone.stretched], [1, null, false]);
  assert.deepEqual(sameStart([]).lanes, []);
});
