// The saved page: the player and one trace, with no server and no request.
import { el } from "../page/dom.js";
import { players } from "../page/players.js";
import { addLeave, setPresent, watchPresent } from "../page/present.js";
import { parseJson } from "../trace/trace.js";
import { mount } from "../watch/player.js";
import { langOf, speakIn, wordsFor } from "../words/languages.js";

export function offline() {
  const { lang, ndjson, place } = parseJson(document.getElementById("ss-trace").textContent) ?? {}, words = wordsFor(langOf(lang)).player;
  speakIn(lang);
  watchPresent(() => {});
  addLeave(() => {})(words.share.leave);
  document.body.prepend(el("header", { class: "ss-header" }, el("h1", { text: "Specscope" }), el("p", { text: words.offlineNote })));
  const options = { ndjson: String(ndjson ?? ""), words, place: place ?? null, intro: {}, present: () => setPresent(true) };
  players.push(mount(document.getElementById("player"), options));
}
