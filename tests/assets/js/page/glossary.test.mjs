import test from "node:test";
import assert from "node:assert/strict";
import { parts, plainText } from "../../../../assets/js/page/glossary.js";

test("marked sentences", () => {
  assert.deepEqual(parts("a [[b|c]] d [[e]]"), ["a ", { key: "b", text: "c" }, " d ", { key: "e", text: "e" }]);
  assert.equal(plainText("a [[b|c]] [[d]]."), "a c d.");
});
