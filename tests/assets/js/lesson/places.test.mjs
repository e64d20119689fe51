import test from "node:test";
import assert from "node:assert/strict";
import { AGREED, goodPlace, openingStep, predictPlace, acceptanceStep } from "../../../../assets/js/lesson/places.js";
import { buildSteps, tableFor } from "../../../../assets/js/trace/steps.js";
import { ceiling, dragsTo, sandbox, summary } from "../../../../assets/js/whatif/sandbox.js";
import { read } from "../data.mjs";

const trace = read("sampled"), { steps, ends } = buildSteps(trace.rounds);

test("the place to predict is open: tested, p below q, and the player stands before its acceptance", () => {
  const at = predictPlace(trace), d = trace.rounds[at.r].drafted[at.i];
  assert.ok(d.verdict !== "not_reached" && d.p < d.q);
  const before = steps[acceptanceStep(steps, at) - 1];
  assert.equal(before, steps[openingStep("predict", trace, steps, ends)]);
  assert.equal(before.r, at.r);
  assert.ok(before.phase === "verify" || (before.phase === "acceptance" && before.i !== at.i));
});

test("the overlap can be pulled to what is asked where the step opens, and the dice have both kept and resampled to show", () => {
  const at = goodPlace("agree", trace), box = sandbox(tableFor(trace.rounds[at.r], at.i), { drafted: trace.rounds[at.r].drafted[at.i].id });
  assert.ok(summary(box.cats).overlap <= 0.85 && dragsTo(box.cats, AGREED) >= 1 && ceiling(box.cats) >= 0.97);
  const roll = goodPlace("roll", trace), overlap = tableFor(trace.rounds[roll.r], roll.i).overlap;
  assert.ok(overlap > 0.3 && overlap < 0.8, String(overlap));
});

test("where the dice are thrown a thousand times, more than one token is to be seen", () => {
  const at = goodPlace("roll", trace), round = trace.rounds[at.r], box = sandbox(tableFor(round, at.i), { drafted: round.drafted[at.i].id });
  assert.ok(box.cats.filter((c) => !c.others && c.p >= 0.05).length >= 3);
});
