// The languages of the page: for each, a table of words for each part. A third language is a translation of the files in words/en, its lines
// here, and one file in spec_ui/words.
import { speak } from "../page/numbers.js";
import { EN } from "./en/watch.js";
import { GLOSSARY_EN } from "./en/glossary.js";
import { INTRO_EN } from "./en/intro.js";
import { FASTER_EN } from "./en/faster.js";
import { LESSON_EN } from "./en/lesson.js";
import { LOSSLESS_EN } from "./en/lossless.js";
import { METHODS_EN } from "./en/methods.js";
import { SHARE_EN } from "./en/share.js";
import { WHATIF_EN } from "./en/whatif.js";
import { RU } from "./ru/watch.js";
import { GLOSSARY_RU } from "./ru/glossary.js";
import { INTRO_RU } from "./ru/intro.js";
import { FASTER_RU } from "./ru/faster.js";
import { LESSON_RU } from "./ru/lesson.js";
import { LOSSLESS_RU } from "./ru/lossless.js";
import { METHODS_RU } from "./ru/methods.js";
import { SHARE_RU } from "./ru/share.js";
import { WHATIF_RU } from "./ru/whatif.js";

export const LANGUAGES = {
  en: {
    player: { ...EN, whatif: WHATIF_EN, share: SHARE_EN, intro: INTRO_EN, glossary: GLOSSARY_EN, lang: "en" },
    decimal: ".",
    lesson: LESSON_EN,
    lossless: LOSSLESS_EN,
    faster: FASTER_EN,
    methods: METHODS_EN,
  },
  ru: {
    player: { ...RU, whatif: WHATIF_RU, share: SHARE_RU, intro: INTRO_RU, glossary: GLOSSARY_RU, lang: "ru" },
    decimal: ",",
    lesson: LESSON_RU,
    lossless: LOSSLESS_RU,
    faster: FASTER_RU,
    methods: METHODS_RU,
  },
};

export const langOf = (x) => (typeof x === "string" && Object.hasOwn(LANGUAGES, x) ? x : "en");
export const wordsFor = (lang) => LANGUAGES[langOf(lang)];
// From now on numbers are written as this language does.
export const speakIn = (lang) => speak(wordsFor(lang).decimal);
