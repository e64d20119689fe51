// The tokens of the running text as nodes. Over a resampled token stand the drafted tokens that it replaced, small and struck out ("ghosts").
import { el } from "../page/dom.js";
import { pieces, short } from "../page/glyphs.js";
import { decider, draftStates, emittedAt } from "../trace/steps.js";
import { isTree } from "../trace/trace.js";

const GHOST_CHARS = 22;   // of all ghosts over one token
const CLOSING = /^[.,;:!?)\]}'’”"…%]/;   // never at the beginning of a line
// In pixels: about a character of the text, a character of a ghost, and how far a ghost may stand out over what follows.
const WORD = 8.6;
const GHOST = 6.95;
const OVER = 22;

// Pure: to how many characters a ghost over a word of `base` characters is cut. A longer one would tear a gap into the line, or, where what
// follows has no ghost of its own (`free`), stand out too far. The card and the tip have the whole word.
export const fitGhost = (base, free) => Math.max(5, Math.floor((base * WORD + (free ? OVER : 9)) / GHOST));

// ghosts: [{d, i: index in the round}]. As many as there is room for; the cards name all of them.
function ghostNodes(ghosts, keep, words) {
  const nodes = [];
  let room = GHOST_CHARS;
  for (const [k, { d, i }] of ghosts.entries()) {
    const text = short(d.text.trim() || d.text, keep), full = room - text.length - 1 < 0 && k > 0;
    const content = full ? { text: `+${ghosts.length - k}` } : { text, "data-i": i, "data-label": words.tokenLabel(d.text, d.verdict, d) };
    nodes.push(el("span", { class: "ss-ghost", "data-kind": d.verdict, ...content }));
    room -= text.length + 1;
    if (room < 0) break;
  }
  return nodes;
}

// A word with its ghosts above it. A single ghost over a short word may stand out over what follows, if that is free.
function withGhosts(mark, length, ghosts, free, words) {
  const over = free && ghosts.length === 1 && length <= 20;
  const nodes = ghostNodes(ghosts, ghosts.length === 1 ? Math.min(16, fitGhost(length, over)) : 16, words);
  if (over) return el("span", { class: "ss-over" }, mark, el("span", { class: "ss-ghosts", "aria-hidden": "true" }, ...nodes));
  const unbroken = length <= 20 ? "ss-short" : null;
  return el("ruby", { class: unbroken }, mark, el("rt", { "aria-hidden": "true" }, ...nodes));
}

// A token of round r. kind: its state or origin. i: index of the drafted token that it is. free: nothing above what follows.
function tokenNode({ r, text, kind, label, i, ghosts = [], free = true, forced = false }, words) {
  const { lead, body, breaks } = pieces(text), mark = el("span", { class: "ss-mark", text: body });
  const inner = ghosts.length ? withGhosts(mark, Array.from(body).length, ghosts, free, words) : mark;
  const place = { "data-kind": kind, "data-r": r, "data-i": i, "data-joined": !lead && CLOSING.test(body), "data-forced": forced };
  return el("span", { class: "ss-tok", role: "button", tabindex: "-1", "aria-label": label, ...place }, lead, inner, breaks);
}

// What was rejected where this token was resampled. While its round is shown, a chain's untested tokens stand there too.
function ghostsOf(round, past) {
  const all = round.drafted.map((d, i) => ({ d, i })), of = (verdict) => all.filter(({ d }) => d.verdict === verdict);
  if (isTree(round)) return of("rejected").slice(-1);
  return past ? of("rejected") : [...of("rejected"), ...of("not_reached")];
}

// The first `upto` tokens that round r emitted. past: its round is over. next: the token that follows the round.
export function emittedNodes(r, round, upto, past, next, words) {
  const accepted = round.drafted.map((d, i) => (d.verdict === "accepted" ? i : -1)).filter((i) => i >= 0);
  return round.emitted.slice(0, upto).map(({ text, kind, forced }, j) => {
    const i = kind === "accepted" ? accepted[j] : undefined, [, why] = words.settled(kind, decider(round));
    const label = forced ? words.forcedLabel(text) : words.tokenLabel(text, kind, i === undefined ? null : round.drafted[i], why);
    const ghosts = kind === "recovered" ? ghostsOf(round, past) : [];
    return tokenNode({ r, text, kind, label, i, ghosts, forced, free: Boolean(past && next) && next.kind !== "recovered" }, words);
  });
}

// The tokens of the round that is shown, at a step: a chain's drafted tokens in their states, then what it emitted.
export function currentNodes(r, round, step, words) {
  if (step.phase === "settle" || isTree(round)) return emittedNodes(r, round, emittedAt(round, step), false, null, words);
  return draftStates(round, step).flatMap((state, i) => {
    if (state === "hidden") return [];
    const d = round.drafted[i], open = ["pending", "lit"].includes(state);
    const label = d.forced ? words.forcedLabel(d.text) : open ? `${short(d.text, 40)}: ${words.kind[state]}` : words.tokenLabel(d.text, state, d);
    return [tokenNode({ r, text: d.text, kind: state, label, i, forced: d.forced }, words)];
  });
}
