import test from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { parts, plainText } from "../../../assets/js/page/glossary.js";
import { cleanRuns } from "../../../assets/js/trace/runs.js";
import { laneOf, laneRate, plainLane, reached, sameStart } from "../../../assets/js/methods/race_model.js";
import { tuneRows } from "../../../assets/js/methods/tune.js";
import { ticksTo } from "../../../assets/js/page/charts.js";
import { makeReader } from "../../../assets/js/trace/trace.js";
import { FASTER_EN } from "../../../assets/js/words/en/faster.js";
import { GLOSSARY_EN } from "../../../assets/js/words/en/glossary.js";
import { LOSSLESS_EN } from "../../../assets/js/words/en/lossless.js";
import { METHODS_EN } from "../../../assets/js/words/en/methods.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8"));
data.ndjson = data.traces.sampled.ndjson;
const trace = makeReader().read(data.ndjson).trace;

// The same run, its plain run with these texts.
const saying = (texts) => makeReader().read(data.ndjson.trim().split("\n").map((line) => {
  const x = JSON.parse(line);
  return x.plain ? JSON.stringify({ ...x, plain: { ...x.plain, texts } }) : line;
}).join("\n") + "\n").trace;

test("every term that a sentence marks has its definition, one sentence", () => {
  const folder = new URL("../../../assets/js/words/en/", import.meta.url);
  let marked = 0;
  for (const name of readdirSync(folder)) {
    for (const [, key] of readFileSync(new URL(name, folder), "utf8").matchAll(/\[\[([^|\]$]+)(?:\|[^\]]+)?\]\]/g)) {
      if (key === "term") continue;
      marked += 1;
      assert.ok(GLOSSARY_EN[key], `${name}: ${key}`);
    }
  }
  assert.ok(marked > 20);
  for (const [key, [name, definition]] of Object.entries(GLOSSARY_EN)) assert.match(`${name}: ${definition}`, /^.+: .+\.$/, key);
});

test("the glossary knows the words of the field", () => {
  for (const key of [
    "target",
    "draft model",
    "draft head",
    "proposer",
    "round",
    "drafted",
    "draft length",
    "accepted",
    "rejected",
    "not reached",
    "resampled",
    "bonus",
    "p",
    "q",
    "u",
    "acceptance probability",
    "distribution",
    "hidden state",
    "residual",
    "alpha",
    "c",
    "speed-up",
    "acceptance rate",
    "tested rate",
    "acceptance by position",
    "tokens per round",
  ])
    assert.ok(GLOSSARY_EN[key], key);
});

test("marked sentences", () => {
  assert.deepEqual(parts("a [[b|c]] d [[e]]"), ["a ", { key: "b", text: "c" }, " d ", { key: "e", text: "e" }]);
  assert.equal(plainText("a [[b|c]] [[d]]."), "a c d.");
});

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

test("the list of runs keeps only what has the right shape", () => {
  assert.deepEqual(cleanRuns(null), []);
  assert.deepEqual(cleanRuns([null, 3, { name: "a" }]), []);
  const [r] = cleanRuns([{ name: "a", path: "/x", ratio: "9", tested: NaN, method: { a: 1 }, costs: 7 }]);
  assert.equal(r.ratio, null);
  assert.equal(r.tested, 0);
  assert.deepEqual(r.costs, {});
});

test("a report of what was tuned: exits in order, the best named, what has not the right shape left out", () => {
  const row = (more) => ({ exit_layer: null, skip_layers: null, ratio: 0.5, agreement: 0.4, tokens_per_round: 1.5, ...more });
  const { exits, skips, best } = tuneRows({
    rows: [
      row({ exit_layer: "20", ratio: 0.7 }),
      row({ exit_layer: "15" }),
      row({ skip_layers: "8-20", ratio: 0.9 }),
      row({}),
      row({ exit_layer: "9", ratio: "x" }),
      null,
      row({ exit_layer: "3", skip_layers: "4" }),
    ],
  });
  assert.deepEqual(exits.map((r) => r.exit), ["15", "20"]);
  assert.deepEqual([skips.length, best.skip], [1, "8-20"]);
  assert.equal(tuneRows(null).best, null);
  assert.match(METHODS_EN.tune.best("exit after layer 20", 0.7), /0\.70× of plain speed\. With this target it does not pay/);
  assert.doesNotMatch(METHODS_EN.tune.best("exit after layer 20", 1.2), /does not pay/);
});

test("round ticks", () => {
  assert.deepEqual(ticksTo(0.07).map((t) => t.toFixed(2)), ["0.00", "0.02", "0.04", "0.06"]);
  assert.deepEqual(ticksTo(4.2), [0, 2, 4]);
});

test("sentences say what they must", () => {
  assert.match(
    FASTER_EN.model.slower(4, 1.34, { all: 1.62, draft: 0.62, pass: 1 }),
    /^Slower here, because .* 1.62 plain steps .* only 1.34 tokens\.$/,
  );
  assert.match(plainText(FASTER_EN.model.breakEven(4, 0.31, 0.2)), /pays from α = 0.31 on; α is 0.20 now/);
  assert.match(FASTER_EN.model.breakEven(4, null, 0.2), /cannot pay/);
  assert.match(FASTER_EN.model.best(0, 1, 0.1), /not to speculate/);
  assert.match(METHODS_EN.slower({ ratio: 0.8, cost: 1.5, tokens_per_round: 1.2 }), /^Slower here, because/);
  assert.equal(METHODS_EN.slower({ ratio: 1.2, cost: 1, tokens_per_round: 2 }), "");
  const bad = { rule: "threshold", n: 1000, d: 0.4, band: [0.01, 0.05], wrong: 0.4, token: "leaf", off: 0.3 };
  assert.match(LOSSLESS_EN.dice.verdict(bad), /this is not p.*leaf 30\.0 points too often/);
  assert.match(LOSSLESS_EN.dice.verdict({ ...bad, rule: "right", d: 0.02 }), /nothing but chance/);
  assert.equal(LOSSLESS_EN.identityError(1.1e-16), "1·10⁻¹⁶");
  for (const [name, c] of Object.entries(METHODS_EN.cards))
    assert.ok(METHODS_EN.names[name] && c.papers.length && c.needs && c.memory && c.choose && c.proposes, name);
});
