// Target p and draft q side by side at the chosen token's place, as a real table: rows of text with bars in them.
import { arrange, el, say, set } from "../page/dom.js";
import { barRows, logitGap, pinAt } from "./rows.js";
import { createRow } from "./row.js";
import { short, tail } from "../page/glyphs.js";
import { closingTable, draftStates, isListed, offered, settleIndex, tableFor } from "../trace/steps.js";

// The text before a table's position: all rounds before, then the drafted path down to `after`.
export function contextBefore(trace, r, after) {
  const round = trace.rounds[r], path = [];
  for (let i = after; i >= 0; i = round.drafted[i].parent) path.unshift(round.drafted[i].text);
  let text = path.join("");
  for (let k = r - 1; k >= 0 && text.length < 80; k--) text = trace.rounds[k].emitted.map((e) => e.text).join("") + text;
  return text;
}

export function createBars(words) {
  const w = words.bars, root = el("section", { class: "ss-bars", "aria-label": w.caption }), empty = el("p", { class: "ss-sub", text: w.empty });
  const head = document.createTextNode("");
  const quote = el("q", { dir: "auto" });
  const title = el("h3", {}, head);
  const sub = el("p", { class: "ss-sub" });
  const note = el("p", { class: "ss-note" });
  const lawHead = el("th", { scope: "col" });
  const restHead = el("th", { scope: "col", class: "ss-rescell", text: w.head[2] });
  const restColumn = el("col");
  const lawColumns = [el("col", { class: "ss-cname" }), el("col")];
  const columns = el("colgroup");
  const heads = el("tr");
  const nameHead = el("th", { scope: "col" }, el("span", { class: "ss-vh", text: w.head[0] }));
  const body = el("tbody");
  const rows = [];
  const table = el("table", {}, el("caption", { class: "ss-vh", text: w.caption }), columns, el("thead", {}, heads), body);
  const wrap = el("div", {}, table);
  const rest = el("p", { class: "ss-sub ss-resnote" }, el("i", { class: "ss-piece ss-residual" }), w.residual);
  let key = "";

  function draw({ trace, step, sel }) {
    const now = `${step.r}/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}/${sel}`;
    if (now === key) return;
    key = now;
    const round = trace.rounds[step.r], end = settleIndex(round);
    const d = typeof sel === "number" ? round.drafted[sel] : null;
    const at = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
    if (!at) { arrange(root, empty); return; }
    const state = d ? draftStates(round, step)[sel] : null, hideP = state === "pending";
    const settled = step.phase === "settle" && end >= 0;
    const siblings = offered(round, at.after);   // in a tree a rejected one's sibling may have been kept: then the draw was further on
    const drawn =
      settled && (sel === "end" || (d?.verdict === "rejected" && !siblings.some((x) => x.verdict === "accepted"))) ? round.emitted[end].id : null;
    const open = ["accepted", "rejected", "not_reached"].includes(state);
    const listed = isListed(siblings);   // their q are no law together, so only p is drawn
    const shown = { ...at, residual: d && !(d.verdict === "rejected" && open) ? null : at.residual, q: listed ? null : at.q };
    const refused = sel === "end" && round.emitted[end].kind === "recovered" ? siblings.find((x) => x.verdict === "rejected") : null;
    const m = barRows(shown, { drafted: d ? d.id : refused?.id ?? null, drawn });
    const context = contextBefore(trace, step.r, at.after);
    const bonus = !m.hasQ && !listed;
    const [before, quoted] = !context ? [m.hasQ ? w.titleStart : w.titleStartBonus, null] : (m.hasQ ? w.title : w.titleBonus)(tail(context));
    const who = d ?? refused, greedy = round.drafted.length ? round.drafted[0].u === null : Number(trace.run?.sampling?.temperature) === 0;
    const pin = open || refused ? pinAt(who) : null;
    // Before the target has looked, neither its order nor its verdict may show through.
    const mine = who && { ...who, verdict: state ?? who.verdict };
    const order = hideP ? [...m.rows].sort((a, b) => a.others - b.others || b.q - a.q) : m.rows;
    const longest = Math.max(...m.rows.map((r) => (r.others ? 9 : Array.from(short(r.text, 16)).length)));
    const notes = [];
    if (pin !== null && !listed) notes.push(w.pinNote(who));
    if (open && d.u !== null && d.verdict !== "not_reached" && siblings.length > 1 && d !== siblings[0]) notes.push(w.left(d, listed));
    if (m.overlap !== null && !hideP && (m.hasQ || listed))
      notes.push(
        listed
          ? w.overlapAll(siblings.length, Math.min(1, m.overlap))
          : siblings.length > 1
            ? w.overlapFirst(siblings.length, m.overlap)
            : w.overlap(m.overlap),
      );
    if (m.rows.some((r) => r.others && r.isDrawn)) notes.push(w.drawnAmongOthers(round.emitted[end].text));
    if (greedy && !hideP && logitGap(at) !== null) notes.push(w.gap(logitGap(at)));
    head.data = quoted === null ? before : `${before} `;
    if (quoted !== null) say(quote, quoted);
    arrange(title, head, quoted === null ? null : quote);
    say(sub, bonus ? w.subBonus : listed ? w.subListed(siblings.map((x) => x.text)) : greedy ? w.subGreedy : w.sub);
    table.style.setProperty("--ss-name", longest);
    arrange(columns, ...lawColumns, m.hasResidual ? restColumn : null);
    say(lawHead, m.hasQ ? w.head[1] : w.headSingle);
    arrange(heads, nameHead, lawHead, m.hasResidual ? restHead : null);
    while (rows.length < order.length) rows.push(createRow(w));
    order.forEach((r, k) => rows[k].fill(r, m, mine, pin, hideP));
    arrange(body, ...rows.slice(0, order.length).map((r) => r.tr));
    set(wrap, { class: `ss-tablewrap${m.hasResidual ? " ss-with-residual" : m.hasQ ? "" : " ss-single"}` });
    say(note, notes.join(" "));
    arrange(root, title, sub, wrap, m.hasResidual ? rest : null, note);
  }
  return { root, draw, reset() { key = ""; } };
}
