// The legend (colour and shape of each state), the list of keys, and every term with its definition.
import { el } from "../page/dom.js";

// Pressing an entry singles its tokens out in the text; pressing it again lets go. `change(kinds)` gets the list that is pressed.
export function createLegend(words, change = null) {
  const chosen = new Set();
  const press = (kind) => (e) => {
    if (!chosen.delete(kind)) chosen.add(kind);
    e.currentTarget.setAttribute("aria-pressed", String(chosen.has(kind)));
    change([...chosen]);
  };
  return el("ul", { class: "ss-legend", "aria-label": words.aria.legend }, ...words.legend.map(([kind, what]) => {
    const key = el("span", { class: "ss-key", "data-legend": kind }, el("b", { class: "ss-mark", text: words.kind[kind] }));
    if (!change) return el("li", {}, key, ` ${what}`.trimEnd());
    return el("li", {},
      el(
        "button",
        {
          type: "button",
          class: "ss-keybtn",
          "data-filter": kind,
          "aria-pressed": "false",
          title: words.aria.filter(words.kind[kind]),
          onclick: press(kind),
        },
        key,
        ` ${what}`.trimEnd(),
      ),
    );
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
  return { root: dialog, toggle() {
    if (dialog.open) { dialog.close(); return; }
    if (!dialog.firstChild) fill();   // a hundred nodes that most visitors never ask for
    dialog.showModal();
  } };
}
