// What the picture of one position shows at a step: pure, everything that bars.js draws.
import { short, tail } from "../page/glyphs.js";
import { closingTable, contextBefore, decider, draftStates, isListed, offered, settleIndex, tableFor } from "../trace/steps.js";
import { isCoupled, isGreedy } from "../trace/trace.js";
import { barRows, logitGap, pinAt } from "./rows.js";

// The token drawn at this position, by its id: the one that closed the round, if it was drawn here. In a tree a rejected token's sibling may
// have been accepted: then the token was drawn further on.
function drawnHere(round, sel, d, siblings) {
  const here = sel === "end" || (d?.verdict === "rejected" && !siblings.some((x) => x.verdict === "accepted"));
  return here ? round.emitted[settleIndex(round)].id : null;
}

// The words before and within the quotation marks of the heading: [before, quoted].
function heading(context, hasQ, w) {
  if (!context) return [hasQ ? w.titleStart : w.titleStartBonus, null];
  return (hasQ ? w.title : w.titleBonus)(tail(context));
}

function overlapNote(overlap, n, listed, coupled, w) {
  if (coupled) return listed ? null : w.overlapDice(n, overlap, overlap / (2 - overlap));
  if (listed) return w.overlapAll(n, Math.min(1, overlap));
  return n > 1 ? w.overlapFirst(n, overlap) : w.overlap(overlap);
}

// view: {trace, step, sel: index of a drafted token, or "end" for the token that closed the round}. w: the words of the picture.
// Null where no table is on record.
export function pictureOf({ trace, step, sel }, w) {
  const round = trace.rounds[step.r], d = typeof sel === "number" ? round.drafted[sel] : null;
  const table = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
  if (!table) return null;
  const state = d ? draftStates(round, step)[sel] : null, decided = ["accepted", "rejected", "not_reached"].includes(state);
  const hideP = state === "pending";   // before the target's pass neither p nor its order may be seen
  const siblings = offered(round, table.after), listed = isListed(siblings);
  const drawn = step.phase === "settle" && settleIndex(round) >= 0 ? drawnHere(round, sel, d, siblings) : null;
  const replaced = sel === "end" && round.emitted[settleIndex(round)].kind === "recovered" ? siblings.find((x) => x.verdict === "rejected") : null;
  const who = d ?? replaced ?? null, pin = decided || replaced ? pinAt(who) : null;
  // The q of listed siblings are 1 each, no distribution: then only p is drawn.
  // With shared dice the replacement is drawn from p itself.
  const coupled = isCoupled(trace), noResidual = coupled || (d && !(d.verdict === "rejected" && decided));
  const shown = { ...table, residual: noResidual ? null : table.residual, q: listed ? null : table.q };
  const m = barRows(shown, { drafted: who ? who.id : null, drawn });
  const greedy = round.drafted.length ? decider(round) === "first" : isGreedy(trace);
  const notes = [];
  if (pin !== null && !listed) notes.push(w.pinNote(who));
  if (decided && d.u !== null && d.verdict !== "not_reached" && siblings.length > 1 && d !== siblings[0]) notes.push(w.left(d, listed));
  if (m.overlap !== null && !hideP && (m.hasQ || listed)) notes.push(overlapNote(m.overlap, siblings.length, listed, coupled, w));
  if (m.rows.some((r) => r.others && r.isDrawn)) notes.push(w.drawnAmongOthers(round.emitted[settleIndex(round)].text));
  if (greedy && !hideP && logitGap(table) !== null) notes.push(w.gap(logitGap(table)));
  if (table.mask && !hideP) notes.push(w.masked(table.mask));
  const bonus = !m.hasQ && !listed;
  return {
    ...m,
    heading: heading(contextBefore(trace, step.r, table.after), m.hasQ, w),
    sub: bonus ? w.subBonus : listed ? (coupled ? w.subDice : w.subListed)(siblings.map((x) => x.text)) : greedy ? w.subGreedy : w.sub,
    rows: hideP ? [...m.rows].sort((a, b) => a.others - b.others || b.q - a.q) : m.rows,
    token: who && { ...who, verdict: state ?? who.verdict },
    pin,
    hideP,
    longest: Math.max(...m.rows.map((r) => (r.others ? 9 : Array.from(short(r.text, 16)).length))),   // characters of the longest name
    notes: notes.filter(Boolean).join(" "),
  };
}
