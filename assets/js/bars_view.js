// Target p and draft q side by side at the chosen token's place, as a real table: rows of text with bars in them.
import { el } from "./dom.js";
import { barRows, logitGap, pinAt } from "./bars_model.js";
import { short, tail, visible } from "./glyphs.js";
import { prob } from "./numbers.js";
import { closingTable, draftStates, isListed, offered, settleIndex, tableFor } from "./steps.js";

// The text before a table's position: all rounds before, then the drafted path down to `after`.
export function contextBefore(trace, r, after) {
  const round = trace.rounds[r], path = [];
  for (let i = after; i >= 0; i = round.drafted[i].parent) path.unshift(round.drafted[i].text);
  let text = path.join("");
  for (let k = r - 1; k >= 0 && text.length < 80; k--) text = trace.rounds[k].emitted.map((e) => e.text).join("") + text;
  return text;
}

export function createBars(words) {
  const root = el("section", { class: "ss-bars", "aria-label": words.bars.caption });
  let key = "";
  const width = (x, scale) => `${Math.max(0, Math.min(100, (100 * x) / scale)).toFixed(2)}%`;
  const piece = (kind, x, scale) => (x > 0 ? el("i", { class: `ss-piece ss-${kind}`, style: { width: width(x, scale) } }) : null);

  function row(r, m, d, pin, hideP) {
    const p = el("span", { class: "ss-bar ss-p" });
    if (!hideP) p.append(...[piece("agreed", r.agreed, m.scale), piece("owed", r.owed, m.scale)].filter(Boolean));
    p.append(el("span", { class: "ss-num", text: hideP ? "p ?" : `${prob(r.p)} p` }));
    if (r.isDrawn && !m.hasResidual) p.append(el("b", { class: "ss-drawn ss-free" }, "★ ", el("span", { text: words.bars.drawn })));
    const cell = el("td", { class: "ss-pair" }, p);
    if (m.hasQ) {
      const q = el("span", { class: "ss-bar ss-q" }, ...(hideP ? [piece("qonly", r.q, m.scale)] : [piece("agreed", r.agreed, m.scale), piece("eager", r.eager, m.scale)]).filter(Boolean));
      q.append(el("span", { class: "ss-num", text: `${prob(r.q)} q` }));
      cell.append(q);
      if (r.isDrafted && pin !== null && !hideP) cell.append(el("span", { class: "ss-pinrail" }, el("i", { class: "ss-pin", "data-kind": d.verdict, style: { left: width(pin, m.scale) }, "data-label": words.bars.pin })));
    }
    const name = r.others ? words.bars.others : short(r.text, 16);
    const kind = r.isDrafted ? (d ? d.verdict : "pending") : r.isDrawn ? "recovered" : null;
    const tr = el("tr", { class: r.isDrafted ? "ss-isdrafted" : null }, el("th", { scope: "row", class: r.others ? "ss-others" : null }, el("span", { class: "ss-name", "data-kind": kind, text: name, title: r.others ? null : visible(r.text).slice(0, 400), dir: "auto" })), cell);
    if (m.hasResidual) {
      const res = el("span", { class: "ss-bar ss-r" }, ...[piece("residual", r.residual, m.scale)].filter(Boolean));
      res.append(el("span", { class: "ss-num", text: prob(r.residual) }));
      if (r.isDrawn) res.append(el("b", { class: "ss-drawn" }, "↻ ", el("span", { class: "ss-vh", text: words.bars.drawn })));
      tr.append(el("td", { class: "ss-rescell" }, res));
    }
    return tr;
  }

  function draw({ trace, step, sel }) {
    const now = `${step.r}/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}/${sel}`;
    if (now === key) return;
    key = now;
    const round = trace.rounds[step.r], end = settleIndex(round);
    const d = typeof sel === "number" ? round.drafted[sel] : null;
    const table = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
    if (!table) { root.replaceChildren(el("p", { class: "ss-sub", text: words.bars.empty })); return; }
    const state = d ? draftStates(round, step)[sel] : null, hideP = state === "pending";
    const settled = step.phase === "settle" && end >= 0;
    const siblings = offered(round, table.after);   // in a tree a rejected one's sibling may have been kept: then the draw was further on
    const drawn = settled && (sel === "end" || (d?.verdict === "rejected" && !siblings.some((x) => x.verdict === "accepted"))) ? round.emitted[end].id : null;
    const open = ["accepted", "rejected", "not_reached"].includes(state);
    const listed = isListed(siblings);   // their q are no law together, so only p is drawn
    const shown = { ...table, residual: d && !(d.verdict === "rejected" && open) ? null : table.residual, q: listed ? null : table.q };
    const refused = sel === "end" && round.emitted[end].kind === "recovered" ? siblings.find((x) => x.verdict === "rejected") : null;
    const m = barRows(shown, { drafted: d ? d.id : refused?.id ?? null, drawn });
    const context = contextBefore(trace, step.r, table.after);
    const bonus = !m.hasQ && !listed;
    const title = el("h3", {});
    if (!context) title.textContent = m.hasQ ? words.bars.titleStart : words.bars.titleStartBonus;
    else {
      const [head, quote] = (m.hasQ ? words.bars.title : words.bars.titleBonus)(tail(context));
      title.append(`${head} `, el("q", { text: quote, dir: "auto" }));
    }
    const who = d ?? refused, greedy = round.drafted.length ? round.drafted[0].u === null : Number(trace.run?.sampling?.temperature) === 0;
    const pin = open || refused ? pinAt(who) : null;
    // Before the target has looked, neither its order nor its verdict may show through.
    const mine = who && { ...who, verdict: state ?? who.verdict }, rows = hideP ? [...m.rows].sort((a, b) => a.others - b.others || b.q - a.q) : m.rows;
    const longest = Math.max(...m.rows.map((r) => (r.others ? 9 : Array.from(short(r.text, 16)).length)));
    const body = el("table", { style: { "--ss-name": longest } }, el("caption", { class: "ss-vh", text: words.bars.caption }),
      el("colgroup", {}, el("col", { class: "ss-cname" }), el("col"), m.hasResidual && el("col")),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", { class: "ss-vh", text: words.bars.head[0] })), el("th", { scope: "col", text: m.hasQ ? words.bars.head[1] : words.bars.headSingle }), m.hasResidual && el("th", { scope: "col", class: "ss-rescell", text: words.bars.head[2] }))),
      el("tbody", {}, ...rows.map((r) => row(r, m, mine, pin, hideP))));
    const notes = [];
    if (pin !== null && !listed) notes.push(words.bars.pinNote(who));
    if (open && d.u !== null && d.verdict !== "not_reached" && siblings.length > 1 && d !== siblings[0]) notes.push(words.bars.left(d, listed));
    if (m.overlap !== null && !hideP && (m.hasQ || listed)) notes.push(listed ? words.bars.overlapAll(siblings.length, Math.min(1, m.overlap)) : siblings.length > 1 ? words.bars.overlapFirst(siblings.length, m.overlap) : words.bars.overlap(m.overlap));
    if (m.rows.some((r) => r.others && r.isDrawn)) notes.push(words.bars.drawnAmongOthers(round.emitted[end].text));
    if (greedy && !hideP && logitGap(table) !== null) notes.push(words.bars.gap(logitGap(table)));
    root.replaceChildren(title, el("p", { class: "ss-sub", text: bonus ? words.bars.subBonus : listed ? words.bars.subListed(siblings.map((x) => x.text)) : greedy ? words.bars.subGreedy : words.bars.sub }), el("div", { class: `ss-tablewrap${m.hasResidual ? " ss-with-residual" : m.hasQ ? "" : " ss-single"}` }, body),
      m.hasResidual ? el("p", { class: "ss-sub ss-resnote" }, el("i", { class: "ss-piece ss-residual" }), words.bars.residual) : "",
      el("p", { class: "ss-note" }, ...notes.map((n) => el("span", { text: `${n} ` }))));
  }
  return { root, draw, reset() { key = ""; } };
}
