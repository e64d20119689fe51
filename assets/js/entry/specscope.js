// What others call by name, as window.Specscope: the page's Python code (js=..., js_on_load=...) and the saved page.
//
// The rooms, each of which imports only from those before it: page (nodes, numbers, charts, the address), trace (a run as data),
// distributions (p and q at a position), words and whatif, then the tabs watch, lossless, faster and methods, then lesson, then entry.
import { players } from "../page/players.js";
import { setTab, toggleTheme } from "./address.js";
import { gradioExplain } from "./explain.js";
import { language, setLanguage } from "./language.js";
import { gradioLesson } from "./lesson.js";
import { gradioNotice } from "./notice.js";
import { offline } from "./offline.js";
import { gradioSettings } from "./settings.js";
import { chooseRun, ended, exampleOf, gradioPlayer, panel, running, started } from "./watch.js";

window.Specscope = {
  players,
  gradioExplain, gradioLesson, gradioNotice, gradioPlayer, gradioSettings, offline,
  language, setLanguage, setTab, toggleTheme,
  started, running, ended, chooseRun, exampleOf, panel,
};
