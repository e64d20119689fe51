// A run as a list of steps a person can walk: draft token by token, one verification, verdicts in order, then what drops in.
import { isTree } from "./trace.js";

export function depths(round) {
  const out = [];
  round.drafted.forEach((d, i) => (out[i] = d.parent < 0 ? 0 : out[d.parent] + 1));
  return out;
}

// The drafted tokens offered at one place (behind `after`), in the order of their verdicts: one in a chain, some in a tree.
export const offered = (round, after) => round.drafted.filter((d) => d.parent === after);
// Siblings that were listed, not drawn: each is certain of itself (q = 1).
export const isListed = (siblings) => siblings.length > 1 && siblings.every((d) => d.q > 0.9999);

// Indices in the order in which the verdicts fall: left to right in a chain; by depth in a tree.
export function verdictOrder(round) {
  const order = round.drafted.map((_, i) => i).filter((i) => round.drafted[i].verdict !== "not_reached");
  if (!isTree(round)) return order;
  const depth = depths(round);
  return order.sort((a, b) => depth[a] - depth[b] || a - b);
}

// Cards: tested ones in verdict order, then those never tested.
export function cardOrder(round) {
  if (!isTree(round)) return round.drafted.map((_, i) => i);
  return [...verdictOrder(round), ...round.drafted.map((_, i) => i).filter((i) => round.drafted[i].verdict === "not_reached")];
}

// What ends a round: the replacement, the bonus or the plain token (index in `emitted`), if there is one.
export function settleIndex(round) {
  return round.emitted.findIndex((e) => e.kind !== "accepted");
}

export function roundSteps(round, r) {
  if (!round.drafted.length) return [{ r, phase: "settle", at: 1 }];
  const tree = isTree(round), depth = depths(round);
  const draftSteps = tree ? Math.max(...depth) + 1 : round.drafted.length;
  const out = [];
  for (let k = 1; k <= draftSteps; k++) out.push({ r, phase: "draft", drafted: tree ? depth.filter((d) => d < k).length : k, level: k });
  out.push({ r, phase: "verify" });
  verdictOrder(round).forEach((i, k) => out.push({ r, phase: "verdict", i, fallen: k + 1 }));
  if (settleIndex(round) >= 0 || !round.emitted.length) out.push({ r, phase: "settle" });
  // When each step happened: drafts share draft_s, the pass ends at draft_s + verify_s, the rest fills the round.
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

// Flat list with seconds since start; `ends[r]` is the index of round r's last step.
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

// What each drafted token looks like at a step of its round: hidden | pending | lit | its verdict.
export function draftStates(round, step) {
  const done = step.phase === "settle";
  const fallen = new Set(done ? [] : verdictOrder(round).slice(0, step.phase === "verdict" ? step.fallen : 0));
  const depth = depths(round), tree = isTree(round);
  const last = step.phase === "verdict" && step.fallen === verdictOrder(round).length && settleIndex(round) < 0;
  return round.drafted.map((d, i) => {
    if (done || last || fallen.has(i)) return d.verdict;
    if (step.phase === "draft") return (tree ? depth[i] < step.level : i < step.level) ? "pending" : "hidden";
    return "lit";
  });
}

// How many emitted tokens of the round stand in the text at a step.
export function emittedAt(round, step) {
  if (step.phase === "settle") return round.emitted.length;
  if (step.phase !== "verdict") return 0;
  const kept = verdictOrder(round).slice(0, step.fallen).filter((i) => round.drafted[i].verdict === "accepted").length;
  return Math.min(kept, round.emitted.length);
}

// Where a page opens: at the end of the first round that drafted, so that there is something to see and Play shows the rest grow.
export const openingRound = (rounds) => Math.max(0, rounds.findIndex((r) => r.drafted.length > 0));

// What the draft liked better than a token it drew by chance: {text, q}; null where the token itself is likely, or nothing was drawn.
export function likelierDraft(round, i) {
  const d = round.drafted[i], table = d.u !== null && d.q !== null && d.q < 0.1 ? tableFor(round, i) : null;
  const at = table?.q ? table.q.reduce((best, q, k) => (q !== null && (best < 0 || q > table.q[best]) ? k : best), -1) : -1;
  return at >= 0 && table.q[at] > 2 * d.q ? { text: table.texts[at], q: table.q[at] } : null;
}

// The table of a drafted token's position, and that of the token which closed the round.
export const tableFor = (round, i) => round.tables.find((t) => t.after === round.drafted[i].parent) ?? null;
export function closingTable(round) {
  const j = settleIndex(round);
  if (j < 0) return null;
  const accepted = round.drafted.map((d, i) => (d.verdict === "accepted" ? i : -1)).filter((i) => i >= 0);
  const after = accepted.length ? accepted[accepted.length - 1] : -1;
  return round.tables.find((t) => t.after === after) ?? null;
}
