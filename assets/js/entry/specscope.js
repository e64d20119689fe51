// What others call by name, as window.Specscope: the page's Python code (js=..., js_on_load=...) and the saved page.
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
