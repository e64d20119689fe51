// Target p and draft q side by side at the position of the chosen token: a table whose rows are a token's text and its bars.
import { arrange, el, say, set } from "../page/dom.js";
import { caption } from "../page/table.js";
import { pictureOf } from "./picture.js";
import { createRow } from "./row.js";

// The heading of the picture, its last words quoted.
function createHeading() {
  const before = document.createTextNode(""), quote = el("q", { dir: "auto" }), root = el("h3", {}, before);
  return { root, fill([text, quoted]) {
    before.data = quoted === null ? text : `${text} `;
    if (quoted !== null) say(quote, quoted);
    arrange(root, before, quoted === null ? null : quote);
  } };
}

// The table keeps its nodes from step to step; the column of the residual comes and goes.
function createTable(w) {
  const nameHead = el("th", { scope: "col" }, el("span", { class: "ss-vh", text: w.head[0] })), pairHead = el("th", { scope: "col" });
  const residualHead = el("th", { scope: "col", class: "ss-rescell", text: w.head[2] });
  const pairColumns = [el("col", { class: "ss-cname" }), el("col")], residualColumn = el("col");
  const columns = el("colgroup"), heads = el("tr"), body = el("tbody"), rows = [];
  const table = el("table", {}, caption(w.caption), columns, el("thead", {}, heads), body), root = el("div", {}, table);
  function fill(picture) {
    const { hasQ, hasResidual } = picture;
    table.style.setProperty("--ss-name", picture.longest);
    arrange(columns, ...pairColumns, hasResidual ? residualColumn : null);
    say(pairHead, hasQ ? w.head[1] : w.headSingle);
    arrange(heads, nameHead, pairHead, hasResidual ? residualHead : null);
    while (rows.length < picture.rows.length) rows.push(createRow(w));
    picture.rows.forEach((row, k) => rows[k].fill(row, picture));
    arrange(body, ...rows.slice(0, picture.rows.length).map((r) => r.tr));
    set(root, { class: `ss-tablewrap${hasResidual ? " ss-with-residual" : hasQ ? "" : " ss-single"}` });
  }
  return { root, fill };
}

export function createBars(words) {
  const w = words.bars, root = el("section", { class: "ss-bars", "aria-label": w.caption }), empty = el("p", { class: "ss-sub", text: w.empty });
  const heading = createHeading(), table = createTable(w), sub = el("p", { class: "ss-sub" }), note = el("p", { class: "ss-note" });
  const residualNote = el("p", { class: "ss-sub ss-resnote" }, el("i", { class: "ss-piece ss-residual" }), w.residual);
  let key = "";

  function draw(view) {
    const { step, sel } = view, now = `${step.r}/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}/${sel}`;
    if (now === key) return;
    key = now;
    const picture = pictureOf(view, w);
    if (!picture) {
      arrange(root, empty);
      return;
    }
    heading.fill(picture.heading);
    say(sub, picture.sub);
    table.fill(picture);
    say(note, picture.notes);
    arrange(root, heading.root, sub, table.root, picture.hasResidual ? residualNote : null, note);
  }
  return { root, draw, reset() { key = ""; } };
}
