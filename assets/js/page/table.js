// A table's parts: its caption (read aloud, not drawn), its head and its rows. The first cell of a row names the row.
import { el } from "./dom.js";


export const tableHead = (texts) => el("thead", {}, el("tr", {}, ...texts.map((text) => el("th", { scope: "col", text }))));
export const caption = (text) => el("caption", { class: "ss-vh", text });

// rows: lists of texts.
export function fillTable(table, { caption: name, head, rows }) {
  const row = ([first, ...rest]) => el("tr", {}, el("th", { scope: "row", text: first, dir: "auto" }), ...rest.map((text) => el("td", { text })));
  table.replaceChildren(caption(name), tableHead(head), el("tbody", {}, ...rows.map(row)));
}

// A table behind a summary, for whoever cannot see the picture above it. -> {table, details}
export function tableBehind(summary, label, more = {}) {
  const table = el("table", {});
  const scrolled = el("div", { class: "ss-tablescroll", tabindex: "0", role: "group", "aria-label": label }, table);
  return { table, details: el("details", { class: "ss-tableview", ...more }, el("summary", { text: summary }), scrolled) };
}
