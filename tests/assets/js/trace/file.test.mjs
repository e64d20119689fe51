import test from "node:test";
import assert from "node:assert/strict";
import { checkTrace, embed, fileName, htmlPage, MOST_BYTES, toFile } from "../../../../assets/js/trace/file.js";
import { makeReader } from "../../../../assets/js/trace/trace.js";
import { read, traces } from "../data.mjs";
import { HOSTILE } from "../hostile.mjs";

const sampled = read("sampled");

test("only traces are opened, and what is wrong is said", () => {
  for (const text of [
    traces.sampled.ndjson,
    JSON.stringify(traces.sampled.file, null, 1),
    traces.sampled.ndjson.trimEnd(),
    traces.sampled.ndjson.slice(0, -20),
  ]) {
    const got = checkTrace(text);
    assert.equal(got.error, undefined);
    const trace = makeReader().read(got.ndjson).trace;
    assert.equal(trace.source, "imported");
    assert.deepEqual(trace.rounds, sampled.rounds);
  }
  const file = traces.sampled.file, edited = (f) => JSON.stringify({ ...file, ...f });
  const cases = {
    empty: " ",
    json: "<html>",
    kind: "[1]",
    run: "{}",
    version: edited({ version: 2 }),
    rounds: edited({ rounds: [] }),
    round: edited({ rounds: [{ drafted: [], emitted: [{ text: 7 }], elapsed_s: 0 }] }),
    line: `${traces.sampled.ndjson.split("\n")[0]}\nxx\n{}\n`,
    many: edited({ rounds: Array(5001).fill(file.rounds[0]) }),
  };
  for (const [error, text] of Object.entries(cases)) assert.equal(checkTrace(text).error, error, text.slice(0, 40));
  assert.equal(checkTrace("{}", MOST_BYTES + 1).error, "big");
  for (const bad of [
    { rounds: [null] },
    { rounds: [{ drafted: {}, emitted: [] }] },
    { rounds: [{ drafted: [null], emitted: [], elapsed_s: 1 }] },
    { rounds: [{ drafted: [], emitted: [], elapsed_s: "1" }] },
  ])
    assert.equal(checkTrace(edited(bad)).error, "round");
});

test("saved and opened again it is the same, unknown keys included", () => {
  const text = traces.sampled.ndjson.replace('"version": 1', '"version": 1, "extra": 5'), file = JSON.parse(toFile(text));
  assert.equal(file.extra, 5);
  assert.deepEqual(file.rounds, traces.sampled.file.rounds);
  assert.deepEqual(file.plain, traces.sampled.file.plain);
  assert.equal(checkTrace(toFile(text)).error, undefined);
  assert.deepEqual(JSON.parse(toFile(toFile(text))), file);
});

test("a trace inside HTML cannot leave its place", () => {
  for (const s of HOSTILE) {
    const inside = embed({ ndjson: s });
    assert.doesNotMatch(inside, /[<>\u2028\u2029]/);
    assert.equal(JSON.parse(inside).ndjson, s);
    const page = htmlPage({ script: "1", styles: "a{}", ndjson: s, lang: s, place: null, title: s, dark: true });
    assert.equal(page.match(/<script/g).length, 3);
    assert.equal(page.match(/<img/g), null);
    assert.equal(page.match(/onerror=/g)?.length ?? 0, s.includes("onerror") ? page.split("onerror=").length - 1 : 0);
  }
  assert.match(fileName({ name: "../../x y" }, "json"), /^specscope-[A-Za-z0-9_-]+\.json$/);
  assert.match(fileName({ run: {} }, "html"), /^specscope-run\.html$/);
});
