import test from "node:test";
import assert from "node:assert/strict";
import { pieces, short, tail, visible } from "../../../../assets/js/page/glyphs.js";

test("invisible characters become visible, text stays text", () => {
  assert.equal(visible(" a\n\t"), "␣a↵⇥");
  assert.equal(visible("\u202eabc\u0007\u200b"), "<U+202E>abc␇<U+200B>");
  assert.equal(visible(""), "∅");
  assert.equal(visible("👩\u200d👩"), "👩\u200d👩");
  assert.equal(visible("</s>${x}{{x}}\\"), "</s>${x}{{x}}\\");
  assert.equal(Array.from(short("x".repeat(10000), 18)).length, 18);
  assert.equal(short("😀".repeat(30), 5), "😀😀😀😀…");
  assert.deepEqual(pieces("  word\n\n"), { lead: "  ", body: "word↵↵", breaks: "\n\n" });
  assert.deepEqual(pieces("  "), { lead: " ", body: "␣", breaks: "" });
  assert.ok(tail("a ".repeat(100)).startsWith("… "));
});
