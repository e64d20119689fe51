// The legend (colour and shape of each state), the list of keys, and every term of the glossary.
import { el } from "../page/dom.js";

// A pressed entry singles its tokens out in the text. change(kinds): the entries that are pressed now; without it they are no buttons.
export function createLegend(words, change = null) {
  const chosen = new Set();
  const press = (kind) => (e) => {
    if (!chosen.delete(kind)) chosen.add(kind);
    e.currentTarget.setAttribute("aria-pressed", String(chosen.has(kind)));
    change([...chosen]);
  };
  return el("ul", { class: "ss-legend", "aria-label": words.aria.legend }, ...words.legend.map(([kind, what]) => {
    const key = el("span", { class: "ss-key", "data-legend": kind }, el("b", { class: "ss-mark", text: words.kind[kind] }));
    const entry = [key, ` ${what}`.trimEnd()], title = words.aria.filter(words.kind[kind]);
    const attrs = { type: "button", class: "ss-keybtn", "data-filter": kind, "aria-pressed": "false", title, onclick: press(kind) };
    return el("li", {}, ...(change ? [el("button", attrs, ...entry)] : entry));
  }));
}

export function createHelp(words) {
  const dialog = el("dialog", { class: "ss-help", "aria-label": words.controls.help });
  const fill = () =>
    dialog.append(
      el("button", { type: "button", class: "ss-btn ss-wide", text: words.controls.close, onclick: () => dialog.close() }),
      el("dl", {}, ...words.keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })])),
      el("h2", { text: words.allWords }),
      el("dl", { class: "ss-allwords" },
        ...Object.values(words.glossary).flatMap(([name, what]) => [el("dt", { text: name }), el("dd", { text: what })]),
      ),
    );
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  function toggle() {
    if (dialog.open) {
      dialog.close();
      return;
    }
    if (!dialog.firstChild) fill();   // a hundred nodes that most visitors never ask for
    dialog.showModal();
  }
  return { root: dialog, toggle };
}
