import test from "node:test";
import assert from "node:assert/strict";
import { fitGhost } from "../../../../assets/js/watch/text_tokens.js";

test("a ghost over a short word is cut rather than tearing a hole", () => {
  assert.equal(fitGhost(2, false), 5);
  assert.ok(fitGhost(3, true) > fitGhost(3, false) && fitGhost(10, true) > 14);
});
