import test from "node:test";
import assert from "node:assert/strict";
import { branchRequest, outputBefore, tooMuch } from "../../../../assets/js/whatif/branch.js";
import { WHATIF_EN } from "../../../../assets/js/words/en/whatif.js";
import { read } from "../data.mjs";

const sampled = read("sampled");

test("a branch takes the ids before the place, the forced one last, and a second branch keeps what the first was given", () => {
  const r = 5;
  const round = sampled.rounds[r];
  const table = round.tables[1];
  const trace = { ...sampled, run: { ...sampled.run, prompt: "hello", prompt_ids: [1, 2, 3] } };
  const before = outputBefore(trace, r, table.after), got = branchRequest(trace, r, table.after, { forced: { id: 9, text: " x" } });
  assert.deepEqual(got.after_ids, [...trace.rounds.slice(0, r).flatMap((x) => x.emitted.map((e) => e.id)), round.drafted[0].id, 9]);
  assert.equal(got.shown, `${before.map((t) => t.text).join("")} x`);
  assert.equal(got.base, 3);
  const second = { ...trace, run: { ...trace.run, prompt_ids: [1, 2, 3, 40, 41] }, branch: { base: 3, text: "AB" } };
  assert.deepEqual(branchRequest(second, 0, -1, { forced: { id: 7, text: "!" } }).after_ids, [40, 41, 7]);
  assert.equal(branchRequest(second, 0, -1, { forced: { id: 7, text: "!" } }).shown, "AB!");
  assert.deepEqual(branchRequest(trace, r, table.after, { text: "mine" }), {
    prompt: "hello",
    base: 3,
    after_ids: [],
    after_text: "mine",
    shown: "mine",
  });
  const coupled = { ...trace, run: { ...trace.run, verify: "coupled" } };
  for (const how of [{ text: "mine" }, { forced: { id: 9, text: " x" } }]) {
    assert.equal(branchRequest(coupled, r, table.after, how).verify, "coupled");
    assert.equal("verify" in branchRequest(trace, r, table.after, how), false);
  }
  assert.match(tooMuch({ after_text: "x".repeat(4001), after_ids: [] }, WHATIF_EN.branch), /4001/);
  assert.match(tooMuch({ after_text: "", after_ids: Array(513).fill(1) }, WHATIF_EN.branch), /513/);
  assert.equal(tooMuch({ after_text: "", after_ids: [1] }, WHATIF_EN.branch), null);
});
