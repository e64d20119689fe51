import test from "node:test";
import assert from "node:assert/strict";
import { parseState, placeOf, stepFor, writeState } from "../../../../assets/js/page/address.js";
import { buildSteps } from "../../../../assets/js/trace/steps.js";
import { read } from "../data.mjs";
import { HOSTILE } from "../hostile.mjs";

const sampled = read("sampled");

test("every parameter of the address is checked and capped", () => {
  assert.deepEqual(parseState("?run=chat-draft&round=5&step=2&lang=ru&__theme=dark&tab=lesson&view=present&lesson=3&done=1f"), {
    run: "chat-draft",
    round: 5,
    step: 2,
    lang: "ru",
    theme: "dark",
    tab: "lesson",
    view: "present",
    lesson: 3,
    done: 31,
  });
  const none = { run: null, round: null, step: null, lang: null, theme: null, tab: null, view: null, lesson: null, done: null };
  for (const bad of [
    "",
    "?run=../../etc&round=-1&step=x&lang=xx&__theme=blue&tab=admin&view=edit&lesson=11&done=zz",
    "?run=<script>&round=1e3&step=99999999&lang=__proto__&lesson=1.5",
    `?run=${"a".repeat(61)}&round=9999999&done=12345`,
    "?%E0%A4%A",
  ])
    assert.deepEqual(parseState(bad), none, bad);
});

test("writing keeps what is not ours and drops what is empty", () => {
  assert.equal(writeState("?x=1&round=3", { round: 5, step: 2, lang: null, theme: "dark" }), "?x=1&round=5&step=2&__theme=dark");
  assert.equal(writeState("?round=3", { round: null }), "");
  assert.equal(writeState("", { done: 31 }), "?done=1f");
  for (const s of HOSTILE) assert.equal(new URLSearchParams(writeState("", { run: s })).get("run") ?? "", s);
});

test("a place in the address is a step of the list, and back", () => {
  const { steps, ends } = buildSteps(sampled.rounds);
  steps.forEach((_, at) => assert.equal(stepFor(placeOf(steps, ends, at), { ends }), at));
  assert.equal(stepFor({ round: 99999, step: 999 }, { ends }), steps.length - 1);
  assert.equal(stepFor({ round: 3, step: null }, { ends }), ends[3]);
  assert.equal(stepFor({ round: null, step: 3 }, { ends }), null);
});
