// A run as a list of steps that a reader walks: each drafted token, the one pass that verifies, each token's acceptance or rejection, and the
// token that closes the round.
import { isTree } from "./trace.js";

// The depth of each drafted token, 0 for the first level. In a chain it is the position.
export function depths(round) {
  const out = [];
  round.drafted.forEach((d, i) => (out[i] = d.parent < 0 ? 0 : out[d.parent] + 1));
  return out;
}

// The drafted tokens at one place, siblings with the parent `after`, in the order in which they are tested: one in a chain, some in a tree.
export const offered = (round, after) => round.drafted.filter((d) => d.parent === after);
// Siblings that the draft listed without drawing at random: each has q = 1 on itself.
export const isListed = (siblings) => siblings.length > 1 && siblings.every((d) => d.q > 0.9999);

// What decided which drafted tokens of a round were accepted: "first" (greedy: the target's first choice), "dice" (the target's own draw with
// the dice that the draft has too), or "u".
export function decider(round) {
  const d = round.drafted[0];
  return d?.coupled ? "dice" : d?.u === null ? "first" : "u";
}

// Indices of the tested tokens in the order in which they are tested: left to right in a chain, by depth in a tree.
export function testedOrder(round) {
  const order = round.drafted.map((_, i) => i).filter((i) => round.drafted[i].verdict !== "not_reached");
  if (!isTree(round)) return order;
  const depth = depths(round);
  return order.sort((a, b) => depth[a] - depth[b] || a - b);
}

// Indices in the order of the cards: the tested tokens as they are tested, then the others.
export function cardOrder(round) {
  if (!isTree(round)) return round.drafted.map((_, i) => i);
  return [...testedOrder(round), ...round.drafted.map((_, i) => i).filter((i) => round.drafted[i].verdict === "not_reached")];
}

// The index in `emitted` of the token that closes a round (resampled, bonus or plain), -1 where there is none.
export function settleIndex(round) {
  return round.emitted.findIndex((e) => e.kind !== "accepted");
}

// The steps of round r: {r, phase: draft | verify | acceptance | settle, at: when it happened, as a part of the round's time, ...}.
export function roundSteps(round, r) {
  if (!round.drafted.length) return [{ r, phase: "settle", at: 1 }];
  const tree = isTree(round), depth = depths(round);
  const draftSteps = tree ? Math.max(...depth) + 1 : round.drafted.length;
  const out = [];
  for (let k = 1; k <= draftSteps; k++) out.push({ r, phase: "draft", drafted: tree ? depth.filter((d) => d < k).length : k, level: k });
  out.push({ r, phase: "verify" });
  testedOrder(round).forEach((i, k) => out.push({ r, phase: "acceptance", i, fallen: k + 1 }));
  if (settleIndex(round) >= 0 || !round.emitted.length) out.push({ r, phase: "settle" });
  // The draft steps share draft_s, the pass ends at draft_s + verify_s, the steps after it share the rest.
  const known = round.draft_s + round.verify_s + round.other_s || 1;
  let k = 0;
  const after = out.length - draftSteps - 1;
  for (const s of out) {
    if (s.phase === "draft") s.at = (round.draft_s * s.level) / draftSteps / known;
    else if (s.phase === "verify") s.at = (round.draft_s + round.verify_s) / known;
    else s.at = (round.draft_s + round.verify_s + (round.other_s * (k += 1)) / after) / known;
  }
  return out;
}

// The steps of all rounds in one list, each with t, its seconds since the start; ends[r] is the index of round r's last step.
export function buildSteps(rounds) {
  const steps = [], ends = [];
  let before = 0;
  rounds.forEach((round, r) => {
    for (const s of roundSteps(round, r)) steps.push({ ...s, t: before + s.at * (round.elapsed_s - before) });
    ends.push(steps.length - 1);
    before = round.elapsed_s;
  });
  return { steps, ends };
}

// The state of each drafted token at a step of its round: hidden (not drafted yet), pending (drafted), lit (its p is known), then accepted,
// rejected or not_reached.
export function draftStates(round, step) {
  const done = step.phase === "settle";
  const fallen = new Set(done ? [] : testedOrder(round).slice(0, step.phase === "acceptance" ? step.fallen : 0));
  const depth = depths(round), tree = isTree(round);
  const last = step.phase === "acceptance" && step.fallen === testedOrder(round).length && settleIndex(round) < 0;
  return round.drafted.map((d, i) => {
    if (done || last || fallen.has(i)) return d.verdict;
    if (step.phase === "draft") return (tree ? depth[i] < step.level : i < step.level) ? "pending" : "hidden";
    return "lit";
  });
}

// What a step is about: the token that was just tested, the newest drafted one, or the one that closed the round ("end").
export function defaultSelection(round, step) {
  if (step.phase === "acceptance") return step.i;
  if (step.phase === "draft") return step.drafted - 1;
  if (step.phase === "verify") return 0;
  const closed = settleIndex(round) >= 0, rejected = round.drafted.findIndex((d) => d.verdict === "rejected");
  if (closed) return rejected >= 0 ? rejected : "end";
  return round.drafted.length ? round.drafted.length - 1 : null;
}

// How many of the round's emitted tokens are in the text at a step.
export function emittedAt(round, step) {
  if (step.phase === "settle") return round.emitted.length;
  if (step.phase !== "acceptance") return 0;
  const accepted = testedOrder(round).slice(0, step.fallen).filter((i) => round.drafted[i].verdict === "accepted").length;
  return Math.min(accepted, round.emitted.length);
}

// The round at whose end a page opens: the first that drafted, so that there is something to see.
export const openingRound = (rounds) => Math.max(0, rounds.findIndex((r) => r.drafted.length > 0));

// For a token that the draft drew although it was unlikely: the draft's likeliest token, {text, q}. Null where the token was likely, or not
// drawn at random.
export function likelierDraft(round, i) {
  const d = round.drafted[i], table = d.u !== null && d.q !== null && d.q < 0.1 ? tableFor(round, i) : null;
  const at = table?.q ? table.q.reduce((best, q, k) => (q !== null && (best < 0 || q > table.q[best]) ? k : best), -1) : -1;
  return at >= 0 && table.q[at] > 2 * d.q ? { text: table.texts[at], q: table.q[at] } : null;
}

// The table of a drafted token's position; null where none is on record.
export const tableFor = (round, i) => round.tables.find((t) => t.after === round.drafted[i].parent) ?? null;

// The table of the position of the token that closes the round.
export function closingTable(round) {
  const j = settleIndex(round);
  if (j < 0) return null;
  const accepted = round.drafted.map((d, i) => (d.verdict === "accepted" ? i : -1)).filter((i) => i >= 0);
  const after = accepted.length ? accepted[accepted.length - 1] : -1;
  return round.tables.find((t) => t.after === after) ?? null;
}

// The drafted tokens from the first level down to the index `after`: what stands before a table's position within its round.
export function pathTo(round, after) {
  const path = [];
  for (let i = after; i >= 0; i = round.drafted[i].parent) path.unshift(round.drafted[i]);
  return path;
}

// The text before a table's position, for a heading: the end of the rounds before and the path within the round.
export function contextBefore(trace, r, after) {
  let text = pathTo(trace.rounds[r], after).map((d) => d.text).join("");
  for (let k = r - 1; k >= 0 && text.length < 80; k--) text = trace.rounds[k].emitted.map((e) => e.text).join("") + text;
  return text;
}
