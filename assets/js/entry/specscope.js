// What others call by name, as window.Specscope: the page's Python code (js=..., js_on_load=...) and the saved page.
import { players } from "../page/players.js";
import { gradioExplain } from "./explain.js";
import {
  chooseRun, ended, exampleOf, gradioNotice, gradioPlayer, gradioSettings, language, panel, running, setLanguage, setTab, started, toggleTheme,
} from "./gradio.js";
import { gradioLesson } from "./lesson.js";
import { offline } from "./offline.js";

window.Specscope = {
  players,
  gradioExplain, gradioLesson, gradioNotice, gradioPlayer, gradioSettings, offline,
  language, setLanguage, setTab, toggleTheme,
  started, running, ended, chooseRun, exampleOf, panel,
};
