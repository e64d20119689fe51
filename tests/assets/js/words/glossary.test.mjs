import test from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { GLOSSARY_EN } from "../../../../assets/js/words/en/glossary.js";
import { LANGUAGES } from "../../../../assets/js/words/languages.js";

test("every term that a sentence marks has its definition, one sentence", () => {
  const folder = new URL("../../../../assets/js/words/en/", import.meta.url);
  let marked = 0;
  for (const name of readdirSync(folder)) {
    for (const [, key] of readFileSync(new URL(name, folder), "utf8").matchAll(/\[\[([^|\]$]+)(?:\|[^\]]+)?\]\]/g)) {
      if (key === "term") continue;
      marked += 1;
      assert.ok(GLOSSARY_EN[key], `${name}: ${key}`);
    }
  }
  assert.ok(marked > 20);
  for (const [key, [name, definition]] of Object.entries(GLOSSARY_EN)) assert.match(`${name}: ${definition}`, /^.+: .+\.$/, key);
});

test("the glossary knows the words of the field", () => {
  for (const key of [
    "target",
    "draft model",
    "draft head",
    "proposer",
    "round",
    "drafted",
    "draft length",
    "accepted",
    "rejected",
    "not reached",
    "resampled",
    "bonus",
    "p",
    "q",
    "u",
    "acceptance probability",
    "distribution",
    "hidden state",
    "residual",
    "alpha",
    "c",
    "speed-up",
    "acceptance rate",
    "tested rate",
    "acceptance by position",
    "tokens per round",
  ])
    assert.ok(GLOSSARY_EN[key], key);
});

test("terms in the sentences are in the glossary of their language", () => {
  for (const [lang, parts] of Object.entries(LANGUAGES)) for (const part of ["player", "lesson", "lossless", "faster", "methods"]) {
    const glossary = parts[part].glossary;
    const text = JSON.stringify(parts[part], (k, v) => (k === "glossary" ? undefined : typeof v === "function" ? String(v) : v));
    for (const [, key] of text.matchAll(/\[\[([^|\]"[]+)(?:\||\]\])/g)) assert.ok(glossary[key], `${lang} ${part}: ${key}`);
  }
});
