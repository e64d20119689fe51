// The languages of the page: for each, one table of words a part. A third language is a translation of the words_*_en.js files,
// its lines here, and one file in spec_ui/words.
import { speak } from "./numbers.js";
import { EN } from "./words_en.js";
import { GLOSSARY_EN } from "./words_glossary_en.js";
import { INTRO_EN } from "./words_intro_en.js";
import { FASTER_EN } from "./words_faster_en.js";
import { LESSON_EN } from "./words_lesson_en.js";
import { LOSSLESS_EN } from "./words_lossless_en.js";
import { METHODS_EN } from "./words_methods_en.js";
import { SHARE_EN } from "./words_share_en.js";
import { WHATIF_EN } from "./words_whatif_en.js";
import { RU } from "./words_ru.js";
import { GLOSSARY_RU } from "./words_glossary_ru.js";
import { INTRO_RU } from "./words_intro_ru.js";
import { FASTER_RU } from "./words_faster_ru.js";
import { LESSON_RU } from "./words_lesson_ru.js";
import { LOSSLESS_RU } from "./words_lossless_ru.js";
import { METHODS_RU } from "./words_methods_ru.js";
import { SHARE_RU } from "./words_share_ru.js";
import { WHATIF_RU } from "./words_whatif_ru.js";

export const LANGUAGES = {
  en: { player: { ...EN, whatif: WHATIF_EN, share: SHARE_EN, intro: INTRO_EN, glossary: GLOSSARY_EN, lang: "en" }, decimal: ".", lesson: LESSON_EN, lossless: LOSSLESS_EN, faster: FASTER_EN, methods: METHODS_EN },
  ru: { player: { ...RU, whatif: WHATIF_RU, share: SHARE_RU, intro: INTRO_RU, glossary: GLOSSARY_RU, lang: "ru" }, decimal: ",", lesson: LESSON_RU, lossless: LOSSLESS_RU, faster: FASTER_RU, methods: METHODS_RU },
};

export const langOf = (x) => (typeof x === "string" && Object.hasOwn(LANGUAGES, x) ? x : "en");
export const wordsFor = (lang) => LANGUAGES[langOf(lang)];
// From now on numbers are written as this language does.
export const speakIn = (lang) => speak(wordsFor(lang).decimal);
