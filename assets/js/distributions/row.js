// One row of the picture: a token, its bars of p and q, and its part of the residual. A row keeps its nodes and is filled anew at every step:
// nodes that are thrown away must be collected, and that costs frames.
import { short, visible } from "../page/glyphs.js";
import { arrange, el, say, set } from "../page/dom.js";
import { prob } from "../page/numbers.js";

const width = (x, scale) => `${Math.max(0, Math.min(100, (100 * x) / scale)).toFixed(2)}%`;

// A bar of pieces with its number behind it.
function createBar(kind, kinds) {
  const pieces = kinds.map((k) => el("i", { class: `ss-piece ss-${k}` }));
  const number = el("span", { class: "ss-num" });
  const root = el("span", { class: `ss-bar ss-${kind}` });
  return { root, fill(values, scale, text, after = null) {
    pieces.forEach((piece, k) => { if (values[k] > 0) piece.style.width = width(values[k], scale); });
    say(number, text);
    arrange(root, ...pieces.map((piece, k) => (values[k] > 0 ? piece : null)), number, after);
  } };
}

export function createRow(words) {
  const name = el("span", { class: "ss-name", dir: "auto" });
  const head = el("th", { scope: "row" }, name);
  const pair = el("td", { class: "ss-pair" });
  const residual = el("td", { class: "ss-rescell" });
  const tr = el("tr");
  const p = createBar("p", ["agreed", "pmore"]), q = createBar("q", ["agreed", "qmore", "qonly"]), r = createBar("r", ["residual"]);
  const pin = el("i", { class: "ss-pin", "data-label": words.pin }), rail = el("span", { class: "ss-pinrail" }, pin);
  const drawn = el("b", { class: "ss-drawn" }, "↻ ", el("span", { class: "ss-vh", text: words.drawn }));
  const free = el("b", { class: "ss-drawn ss-free" }, "★ ", el("span", { text: words.drawn }));
  residual.append(r.root);

  // row, picture: of pictureOf. The pin marks u·q on the drafted token's bar of q.
  function fill(row, { scale, hasQ, hasResidual, token, pin: at, hideP }) {
    const pinned = hasQ && row.isDrafted && at !== null && !hideP;
    set(tr, { class: row.isDrafted ? "ss-isdrafted" : null });
    set(head, { class: row.others ? "ss-others" : null });
    set(name, {
      "data-kind": row.isDrafted ? (token ? token.verdict : "pending") : row.isDrawn ? "recovered" : null,
      title: row.others ? null : visible(row.text).slice(0, 400),
    });
    say(name, row.others ? words.others : short(row.text, 16));
    p.fill(hideP ? [] : [row.agreed, row.pmore], scale, hideP ? "p ?" : `${prob(row.p)} p`, row.isDrawn && !hasResidual ? free : null);
    if (hasQ) q.fill(hideP ? [0, 0, row.q] : [row.agreed, row.qmore], scale, `${prob(row.q)} q`);
    if (pinned) {
      set(pin, { "data-kind": token.verdict });
      pin.style.left = width(at, scale);
    }
    arrange(pair, p.root, hasQ ? q.root : null, pinned ? rail : null);
    if (hasResidual) r.fill([row.residual], scale, prob(row.residual), row.isDrawn ? drawn : null);
    arrange(tr, head, pair, hasResidual ? residual : null);
  }
  return { tr, fill };
}
