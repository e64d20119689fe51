// The legend (colour and shape of each state) and the list of keys.
import { el } from "./dom.js";

export function createLegend(words) {
  return el("ul", { class: "ss-legend", "aria-label": "Legend" }, ...words.legend.map(([kind, what]) => el("li", {}, el("span", { class: "ss-key", "data-legend": kind }, el("b", { class: "ss-mark", text: words.kind[kind] })), ` ${what}`.trimEnd())));
}

export function createHelp(words) {
  const dialog = el("dialog", { class: "ss-help", "aria-label": words.controls.help });
  dialog.append(el("dl", {}, ...words.keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })])),
    el("button", { type: "button", class: "ss-btn ss-wide", text: words.controls.close, onclick: () => dialog.close() }));
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  return { root: dialog, toggle: () => (dialog.open ? dialog.close() : dialog.showModal()) };
}
