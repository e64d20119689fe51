import test from "node:test";
import assert from "node:assert/strict";
import { pictureOf } from "../../../../assets/js/distributions/picture.js";
import { buildSteps } from "../../../../assets/js/trace/steps.js";
import { LANGUAGES } from "../../../../assets/js/words/languages.js";
import { read } from "../data.mjs";

// The picture of a rejected token at the end of its round.
function rejected(trace, w) {
  const { steps, ends } = buildSteps(trace.rounds), r = trace.rounds.findIndex((x) => x.drafted.some((d) => d.verdict === "rejected"));
  return pictureOf({ trace, step: steps[ends[r]], sel: trace.rounds[r].drafted.findIndex((d) => d.verdict === "rejected") }, w);
}

test("a coupled run has no pin and no residual, and its overlap is called a bound", () => {
  for (const { player: { bars } } of Object.values(LANGUAGES)) {
    const got = rejected(read("coupled"), bars);
    assert.equal(got.pin, null);
    assert.equal(got.hasResidual, false);
    assert.equal(got.sub, bars.sub);
    assert.ok(got.notes.includes(bars.overlapDice(1, got.overlap, got.overlap / (2 - got.overlap))), got.notes);
    assert.equal(rejected(read("sampled"), bars).hasResidual, true);
  }
});

test("the children of a coupled tree are the first of the draft's own draw", () => {
  const trace = read("tree"), w = LANGUAGES.en.player.bars, { steps, ends } = buildSteps(trace.rounds);
  const coupled = { ...trace, run: { ...trace.run, verify: "coupled", sampling: { temperature: 1 } } };
  const listed = { ...coupled, rounds: coupled.rounds.map((r) => ({ ...r, drafted: r.drafted.map((d) => ({ ...d, q: 1, coupled: true })) })) };
  const got = pictureOf({ trace: listed, step: steps[ends[1]], sel: 0 }, w);
  assert.match(got.sub, /the first ones of its own draw with the dice/);
  assert.doesNotMatch(got.notes, /chance that one of them/);
});
