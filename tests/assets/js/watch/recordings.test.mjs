import test from "node:test";
import assert from "node:assert/strict";
import { entryFor, grammarText, panelOf, settingsOf } from "../../../../assets/js/watch/recordings.js";
import { traces } from "../data.mjs";

const runs = [{ name: "chat-draft", example: "chat", method: "draft" }, { name: "own-draft", example: "own", method: "draft" }];
const prompts = { chat: "?" };

test("a recording is found by its example and its method, both", () => {
  assert.equal(entryFor(runs, "chat", "draft").name, "chat-draft");
  assert.equal(entryFor(runs, "chat", "eagle"), null);
  assert.equal(entryFor(runs, null, "draft"), null);
});

test("the controls say what a recording was made with, and nothing they cannot say", () => {
  const trace = { ...traces.sampled.file, name: "chat-draft" };
  const [prompt, example, method, length, auto, temperature, topP, , seed] = panelOf(trace, runs, prompts);
  assert.deepEqual(
    [prompt, example, method, length, auto, temperature, topP, seed],
    [trace.run.prompt, "chat", trace.run.method, 4, false, 0.7, 1, 7],
  );
  assert.equal(panelOf({ ...trace, name: "own-draft" }, runs, prompts)[1], "", "no example chip stands for a file of one's own");
  assert.deepEqual(panelOf({ name: "x", run: { draft_len: "auto", prompt: 7, seed: "7", sampling: null } }, runs, prompts), [
    null,
    "",
    null,
    null,
    true,
    null,
    null,
    null,
    null,
    "",
  ]);
  assert.deepEqual(panelOf({ name: "x", run: { draft_len: 0 } }, runs, prompts).slice(3, 5), [null, null], "plain decoding has no draft length");
});

test("the form of the output is shown as the field takes it", () => {
  assert.equal(grammarText({ kind: "regex", value: "[0-9]{4}" }), "/[0-9]{4}/");
  assert.equal(grammarText({ kind: "choice", value: ["yes", "no"] }), "yes, no");
  assert.equal(grammarText({ kind: "json_schema", value: { type: "object" } }), '{"type":"object"}');
  for (const none of [undefined, null, {}, { kind: "regex", value: 7 }, { kind: "json_schema", value: null }, { kind: "x", value: "y" }])
    assert.equal(grammarText(none), "");
});

test("a method's own settings follow where they differ from what is usual", () => {
  const details = [
    { name: "tree", default: "chain" },
    { name: "ngram_max", default: 3 },
  ];
  const run = { method: "draft", settings: { tree: "2x1", ngram_max: 3, other: 1 } };
  assert.deepEqual(settingsOf(run, "draft", details), { tree: "2x1" });
  assert.deepEqual(settingsOf(run, "eagle", details), {});
  assert.deepEqual(settingsOf(null, "draft", details), {});
});
