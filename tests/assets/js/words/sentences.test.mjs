import test from "node:test";
import assert from "node:assert/strict";
import { plainText } from "../../../../assets/js/page/glossary.js";
import { FASTER_EN } from "../../../../assets/js/words/en/faster.js";
import { LOSSLESS_EN } from "../../../../assets/js/words/en/lossless.js";
import { METHODS_EN } from "../../../../assets/js/words/en/methods.js";
import { EN } from "../../../../assets/js/words/en/watch.js";

const d = (x) => ({ text: " a", p: 0.2, q: 0.37, u: 0.31, threshold: 0.5405, verdict: "accepted", ...x });

test("whether a token was accepted, in a sentence", () => {
  assert.equal(EN.acceptance(d()), "u = 0.31 < p/q = 0.54: accepted");
  assert.equal(EN.acceptance(d({ u: 0.64, verdict: "rejected" })), "u = 0.64 ≥ p/q = 0.54: rejected");
  assert.equal(EN.acceptance(d({ p: 0.5, threshold: 1.35 })), "p ≥ q: accepted whatever u is");
  assert.equal(EN.acceptance(d({ u: null })), "the target's first choice is the same: accepted");
  assert.equal(EN.acceptance(d({ u: null, verdict: "rejected" })), "the target's first choice is another: rejected");
  assert.match(EN.acceptance(d({ verdict: "not_reached" })), /never tested/);
  const dice = { u: null, coupled: true };
  assert.equal(EN.acceptance(d(dice)), "the target's own draw with the same dice is the same token: accepted");
  assert.equal(EN.acceptance(d({ ...dice, verdict: "rejected" })), "the target's own draw with the same dice is another token: rejected");
  assert.deepEqual(EN.settled("recovered", "dice"), ["resampled", "the target's own draw with the same dice"]);
  assert.match(EN.cardAcceptance(d(dice), "accepted")[1], /same dice/);
  assert.match(EN.acceptance(d(), false), /the acceptance probability = 0.54/);
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
  assert.match(LOSSLESS_EN.dice.conclusion(bad), /this is not p.*leaf 30\.0 points too often/);
  assert.match(LOSSLESS_EN.dice.conclusion({ ...bad, rule: "right", d: 0.02 }), /nothing but chance/);
  assert.equal(LOSSLESS_EN.identityError(1.1e-16), "1·10⁻¹⁶");
  for (const [name, c] of Object.entries(METHODS_EN.cards))
    assert.ok(METHODS_EN.names[name] && c.papers.length && c.needs && c.memory && c.choose && c.proposes, name);
});
