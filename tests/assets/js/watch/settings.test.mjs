import test from "node:test";
import assert from "node:assert/strict";
import { cleanDetails, given } from "../../../../assets/js/watch/settings.js";

test("settings: only clean ones are drawn, only changed ones are sent", () => {
  const [d] = cleanDetails([
    { name: "ngram_max", kind: "int", default: 3, low: 1, high: 16 },
    { name: "<b>", kind: "int" },
    { name: "x", kind: "code" },
    null,
  ]);
  assert.equal(cleanDetails("x").length, 0);
  assert.equal(given(d, "3"), undefined);
  assert.equal(given(d, ""), undefined);
  assert.equal(given(d, "5"), 5);
  assert.equal(given({ kind: "bool", default: false }, true), true);
});
