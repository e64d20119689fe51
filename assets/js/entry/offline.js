// The saved page: the player and one trace, no server, no request.
import { players } from "../page/players.js";
import { el } from "../page/dom.js";
import { langOf, speakIn, wordsFor } from "../words/languages.js";
import { mount } from "../watch/player.js";
import { addLeave, setPresent, watchPresent } from "../page/present.js";

export function offline() {
  let data = {};
  try { data = JSON.parse(document.getElementById("ss-trace").textContent); } catch { data = {}; }
  const words = wordsFor(langOf(data.lang)).player, root = document.getElementById("player");
  speakIn(data.lang);
  watchPresent(() => {});
  addLeave(() => {})(words.share.leave);
  document.body.prepend(el("header", { class: "ss-header" }, el("h1", { text: "Specscope" }), el("p", { text: words.offlineNote })));
  const player = mount(root, { ndjson: String(data.ndjson ?? ""), words, place: data.place ?? null, intro: {}, present: () => setPresent(true) });
  players.push(player);
  return player;
}
