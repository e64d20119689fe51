import test from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { commandFor, quote } from "../../../../assets/js/trace/command.js";
import { read } from "../data.mjs";
import { HOSTILE } from "../hostile.mjs";

const sampled = read("sampled");

test("a shell gets back exactly the text that was quoted", () => {
  for (const text of HOSTILE) {
    const got = execFileSync("bash", ["-c", `printf %s ${quote(text)}`], { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } });
    assert.equal(got, text, quote(text));
    assert.doesNotMatch(quote(text), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b]/, "nothing hidden on the clipboard");
  }
});

test("a grammar is repeated, a strange one left out", () => {
  const end = (grammar) => commandFor({ run: { ...sampled.run, grammar }, plain: null }).split(" --seed=7")[1] ?? "";
  assert.equal(end({ kind: "json_schema", value: { a: "it's" } }), ` --json-schema='{"a":"it'\\''s"}'`);
  assert.equal(end({ kind: "regex", value: "a|b" }), " --regex='a|b'");
  assert.equal(end({ kind: "choice", value: ["yes, please", "no"] }), " --choice='yes, please' --choice=no");
  const strange = [null, 7, { kind: "regex", value: 7 }, { kind: "json_schema", value: "x" }, { kind: "choice", value: "x" }];
  for (const grammar of strange) assert.equal(end(grammar), "");
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
  const coupled = { ...run, verify: "coupled", prompt_ids: [1, 2] };
  assert.match(commandFor({ run: coupled }), / --verify=coupled --temperature=0\.7 --seed=7 /);
  assert.equal(commandFor({ run: coupled, branch: { base: 1, text: "" } }), null, "its dice would begin anew");
  const odd = commandFor({
    run: { prompt: "hi", method: "$(id)", seed: -1, sampling: { temperature: "1; id", top_p: NaN }, draft_len: 1.5, settings: "x", stop: "y" },
  });
  assert.equal(odd, "specscope run --prompt=hi");
});
