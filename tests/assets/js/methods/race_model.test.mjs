import test from "node:test";
import assert from "node:assert/strict";
import { laneOf, laneRate, oneText, plainLane, racing, reached, sameStart } from "../../../../assets/js/methods/race_model.js";
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

test("coupled recordings race instead of the others of their method, and have one text if their seed is one", () => {
  const run = (name, method, verify, temperature = 0.7) => ({ name, method, verify, temperature });
  const all = [run("a", "draft", "chain"), run("b", "draft", "coupled"), run("c", "eagle", "chain"), run("d", "medusa", "coupled", 0),
    run("e", "medusa", "chain")];
  assert.deepEqual(racing(all).map((x) => x.name), ["b", "c", "d", "e"]);
  const [long, short, other, sampled] = ["coupled", "coupled short", "coupled other", "sampled"].map(read);
  assert.equal(oneText([long, short]), true);
  assert.equal(oneText([long, other]), false);
  assert.equal(oneText([long, sampled]), false);
});

test("the plain run beside a coupled one has its text", () => {
  assert.equal(plainLane("plain", read("coupled")).texts, true);
  assert.equal(plainLane("plain", read("sampled")).texts, false);
});
