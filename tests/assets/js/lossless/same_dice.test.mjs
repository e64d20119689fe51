import test from "node:test";
import assert from "node:assert/strict";
import { comparable, diceGroups, sameTokens, tokensOf } from "../../../../assets/js/lossless/same_dice.js";
import { cleanRuns } from "../../../../assets/js/trace/runs.js";
import { read } from "../data.mjs";

const run = (method, more = {}) => ({ name: `chat-${method}-coupled`, path: `/x/chat-${method}-coupled.json`, example: "chat", method, target: "T",
  verify: "coupled", seed: 3, temperature: 0.8, ...more });

test("runs of one prompt and seed stand together, one for each method; all others are left out", () => {
  const listed = cleanRuns([run("plain"), run("eagle"), run("eagle", { name: "chat-eagle-2", path: "/y" }), run("draft", { seed: 4 }),
    run("lookup", { verify: "chain" }), run("medusa", { temperature: 0 }), run("suffix", { verify: undefined }), run("draft", { seed: "3" })]);
  const groups = diceGroups(listed);
  assert.equal(groups.length, 1);
  assert.deepEqual(groups[0].entries.map((e) => e.method), ["plain", "eagle"]);
  assert.deepEqual([groups[0].example, groups[0].seed, groups[0].temperature], ["chat", 3, 0.8]);
  assert.deepEqual(diceGroups(cleanRuns([run("plain")])), [], "one run is no comparison");
  assert.deepEqual(diceGroups(cleanRuns([])), []);
  const two = cleanRuns(["plain", "draft"].flatMap((m) => [run(m), run(m, { example: "list", name: `list-${m}`, path: `/l/${m}` })]));
  assert.deepEqual(diceGroups(two).map((g) => g.example), ["chat", "list"]);
});

test("another draft length is the same text in another number of passes; another seed is another text", () => {
  const [long, short, other] = ["coupled", "coupled short", "coupled other"].map(read), lanes = [long, short, other].map(tokensOf);
  const { same, most } = sameTokens(lanes.slice(0, 2));
  assert.ok(most > 30);
  assert.equal(same, most);
  assert.ok(lanes[0][most - 1].passes < lanes[1][most - 1].passes);
  assert.ok(sameTokens(lanes).same < 10);
  assert.deepEqual(lanes[0].map((t) => t.passes), [...lanes[0].map((t) => t.passes)].sort((a, b) => a - b));
  assert.deepEqual(comparable([long, short, other]), [true, true, false]);
  assert.deepEqual(comparable([long, { ...short, run: { ...short.run, prompt_ids: [9] } }, { run: null }]), [true, false, false]);
});

test("the first difference ends what is the same", () => {
  const t = (...ids) => ids.map((id) => ({ id, text: `<${id}>` }));
  assert.deepEqual(sameTokens([t(1, 2, 3), t(1, 2, 4), t(1, 2)]), { same: 2, most: 2 });
  assert.deepEqual(sameTokens([t(1, 2, 3), t(1, 5, 3)]), { same: 1, most: 3 });
  assert.deepEqual(sameTokens([t(), t(1)]), { same: 0, most: 0 });
});
