import test from "node:test";
import assert from "node:assert/strict";
import { ms, prob, probLong, ratio, times } from "../../../../assets/js/page/numbers.js";
import { apart, sumText, two } from "../../../../assets/js/page/printed.js";
import { EN } from "../../../../assets/js/words/en/watch.js";
import { langOf, LANGUAGES, speakIn, wordsFor } from "../../../../assets/js/words/languages.js";
import { RU } from "../../../../assets/js/words/ru/watch.js";

// Every key on every level, with what kind of thing stands there.
function shape(x, path = "") {
  if (Array.isArray(x)) return x.every((y) => typeof y === "string") ? [`${path}[${x.length}]`] : x.flatMap((y, i) => shape(y, `${path}[${i}]`));
  if (x && typeof x === "object") return Object.entries(x).flatMap(([k, v]) => shape(v, `${path}.${k}`));
  return [`${path}:${typeof x}`];
}

test("every language has exactly the same keys", () => {
  for (const lang of Object.keys(LANGUAGES)) assert.deepEqual(shape(LANGUAGES[lang]).sort(), shape(LANGUAGES.en).sort(), lang);
});

test("a translation is a translation: no sentence was left in English, no argument was lost", () => {
  const same = [];
  const walk = (a, b, path) => {
    if (typeof a === "function") return assert.equal(b.length, a.length, `${path} takes ${a.length}`);
    if (typeof a === "string") {
      if (a === b && /[a-z]{4,} [a-z]{3,} [a-z]{2,}/i.test(a) && !path.includes(".papers")) same.push(path);
      return undefined;
    }
    if (a && typeof a === "object") for (const k of Object.keys(a)) walk(a[k], b[k], `${path}.${k}`);
    return undefined;
  };
  walk(LANGUAGES.en, LANGUAGES.ru, "");
  assert.deepEqual(same, []);
});

test("sentences of both languages say the same numbers", () => {
  const d = { text: " a", p: 0.2, q: 0.37, u: 0.31, threshold: 0.5405, verdict: "accepted" };
  for (const w of [EN, RU]) assert.match(w.acceptance(d), /u = 0\.31 < p\/q = 0\.54/);
  assert.match(
    RU.roundTitle(3, { drafted: [d, { ...d, verdict: "rejected" }], emitted: [{ kind: "accepted" }, { kind: "recovered" }] }, true),
    /Раунд 3: предложено 2, принято 1, заново выбран 1/,
  );
});

test("numbers are written as the language writes them", () => {
  const d = { text: " a", p: 0.2, q: 0.37, u: 0.31, threshold: 0.5405, verdict: "accepted" };
  const all = () => [
    prob(0.23),
    prob(0.0031),
    prob(0.997),
    prob(0.99999),
    probLong(0.23),
    ratio(1.234),
    times(1.5),
    ms(0.0021),
    two(0.0312),
    sumText(0.2, 0.3, 0.5),
    ...apart(0.5401, 0.5404),
  ];
  assert.deepEqual(all(), [
    ".23",
    ".003",
    ".9970",
    ">.9999",
    "0.23",
    "1.23×",
    "1.50",
    "2.1 ms",
    "0.031",
    "0.200 + 0.300 = 0.500",
    "0.5401",
    "0.5404",
  ]);
  speakIn("ru");
  assert.deepEqual(all(), [
    "0,23",
    "0,003",
    "0,9970",
    ">0,9999",
    "0,23",
    "1,23×",
    "1,50",
    "2,1 ms",
    "0,031",
    "0,200 + 0,300 = 0,500",
    "0,5401",
    "0,5404",
  ]);
  assert.match(RU.acceptance(d), /u = 0,31 < p\/q = 0,54/);
  speakIn("en");
});

test("an unknown language is English", () => {
  for (const bad of ["xx", "__proto__", "constructor", null, 7, ""]) assert.equal(langOf(bad), "en");
  assert.equal(wordsFor("ru").player.lang, "ru");
});
