import test from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { commandFor, quote } from "../../../assets/js/trace/command.js";
import { buildSteps } from "../../../assets/js/trace/steps.js";
import { makeReader } from "../../../assets/js/trace/trace.js";
import { checkTrace, embed, fileName, htmlPage, MOST_BYTES, toFile } from "../../../assets/js/trace/file.js";
import { parseState, placeOf, stepFor, writeState } from "../../../assets/js/page/address.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8")).traces;
const sampled = makeReader().read(data.sampled.ndjson).trace;
const HOSTILE = [
  "<script>alert(1)</script>",
  "</script><img src=x onerror=alert(1)>",
  "${window.x}",
  "{{constructor}}",
  "'; rm -rf / #",
  "$(touch /tmp/x)`id`",
  "a\nb\tc",
  "\u001b[31mred\u0007",
  "\u202eabc",
  "\u2028\u2029",
  "--help",
  "-",
  " ",
  "!history",
  "\\u0041 \\n",
  "\"'\"'",
  "👩\u200d👩",
  "é".repeat(50),
];

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

test("a shell gets back exactly the text that was quoted", () => {
  for (const text of HOSTILE) {
    const got = execFileSync("bash", ["-c", `printf %s ${quote(text)}`], { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });
    assert.equal(got, text, quote(text));
    assert.doesNotMatch(quote(text), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b]/, "nothing hidden on the clipboard");
  }
});

test("the command makes the run again", () => {
  const c = commandFor(sampled);
  assert.equal(
    c,
    "specscope run --prompt='Explain why leaves change colour in autumn.' --target='Synthetic target' --draft='synthetic draft' " +
      "--method=draft --draft-len=4 --temperature=0.7 --seed=7 --baseline",
  );
  const run = {
    ...sampled.run,
    target: "SmolLM2-135M-Instruct (Q4_1)",
    max_new_tokens: 96,
    draft_len: 2,
    settings: { tree: "3x2x1", vocab: "strict", skip_layers: "", x: true, y: false, "bad name": 1, "$(id)": 2 },
    stop: ["\n\n"],
    ignore_eos: true,
    verify: "block",
  };
  assert.equal(
    commandFor({ run, plain: null }),
    "specscope run --prompt='Explain why leaves change colour in autumn.' --method=draft --tree=3x2x1 --vocab=strict --x --verify=block " +
      "--temperature=0.7 --seed=7 --max-new-tokens=96 --stop=$'\\n\\n' --ignore-eos",
  );
  assert.match(commandFor({ run: { ...run, prompt: null, prompt_ids: [1, 5, 9] } }), /--prompt-ids=1,5,9 /);
  for (const prompt of ["-", "a\0b", "\ud800", " "]) assert.match(commandFor({ run: { ...run, prompt, prompt_ids: [1] } }), /--prompt-ids=1 /);
  assert.match(commandFor({ run: { ...run, prompt_ids: [1, 2] }, branch: { base: 1, text: "" } }), /--prompt-ids=1,2 /);
  assert.equal(commandFor({ run: { prompt_ids: ["x"] } }), null);
  assert.equal(commandFor({ run: null }), null);
  const odd = commandFor({
    run: { prompt: "hi", method: "$(id)", seed: -1, sampling: { temperature: "1; id", top_p: NaN }, draft_len: 1.5, settings: "x", stop: "y" },
  });
  assert.equal(odd, "specscope run --prompt=hi");
});

test("only traces are opened, and what is wrong is said", () => {
  for (const text of [
    data.sampled.ndjson,
    JSON.stringify(data.sampled.file, null, 1),
    data.sampled.ndjson.trimEnd(),
    data.sampled.ndjson.slice(0, -20),
  ]) {
    const got = checkTrace(text);
    assert.equal(got.error, undefined);
    const trace = makeReader().read(got.ndjson).trace;
    assert.equal(trace.source, "imported");
    assert.deepEqual(trace.rounds, sampled.rounds);
  }
  const file = data.sampled.file, edited = (f) => JSON.stringify({ ...file, ...f });
  const cases = {
    empty: " ",
    json: "<html>",
    kind: "[1]",
    run: "{}",
    version: edited({ version: 2 }),
    rounds: edited({ rounds: [] }),
    round: edited({ rounds: [{ drafted: [], emitted: [{ text: 7 }], elapsed_s: 0 }] }),
    line: `${data.sampled.ndjson.split("\n")[0]}\nxx\n{}\n`,
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
  const text = data.sampled.ndjson.replace('"version": 1', '"version": 1, "extra": 5'), file = JSON.parse(toFile(text));
  assert.equal(file.extra, 5);
  assert.deepEqual(file.rounds, data.sampled.file.rounds);
  assert.deepEqual(file.plain, data.sampled.file.plain);
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
