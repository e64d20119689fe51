// What if: a recorded position as a handful of categories that can be changed, and what then would have happened. Pure functions.
import { normalise, overlap, residual, setWeight } from "../distributions/acceptance.js";
import { finite, isTree } from "../trace/trace.js";
import { filled, ratios } from "../trace/theory.js";
import { depths } from "../trace/steps.js";
import { roundCost, tally } from "../trace/tally.js";

export const LISTED = 6;
const LENGTHS = 10;

// The position's categories: the drafted and the drawn token first in right, then the heaviest, then "all others" as one.
// `share` is what two laws agree on in it, as a part of the smaller mass: one for a token, less for many tokens together.
export function sandbox(table, { drafted = null, drawn = null, limit = LISTED } = {}) {
  if (!table || !Array.isArray(table.p) || !Array.isArray(table.q)) return null;
  const all = table.ids.map((id, k) => ({
    id,
    text: table.texts[k],
    p: table.p[k] ?? 0,
    q: table.q[k] ?? 0,
    lp: finite(table.logit_p?.[k]),
    lq: finite(table.logit_q?.[k]),
    others: false,
    share: 1,
  }));
  const weight = (c) => Math.max(c.p, c.q) + (c.id === drafted ? 4 : c.id === drawn ? 2 : 0);
  const kept = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, limit));
  const cats = all.filter((c) => kept.has(c)), hidden = all.filter((c) => !kept.has(c));
  const sum = (key) => cats.reduce((s, c) => s + c[key], 0), p = Math.max(0, 1 - sum("p")), q = Math.max(0, 1 - sum("q"));
  const agreed = Math.min(p, q, (table.others.overlap ?? 0) + hidden.reduce((s, c) => s + Math.min(c.p, c.q), 0));
  cats.push({ id: null, text: "", p, q, lp: null, lq: null, others: true, share: Math.min(p, q) > 0 ? agreed / Math.min(p, q) : 0 });
  return { cats, all, at: cats.findIndex((c) => c.id === drafted && drafted !== null) };
}

export const agree = (cats) => cats.map((c) => ({ ...c, agreed: Math.min(c.p, c.q) * c.share }));

// The largest overlap that q can be pulled to: all of p, but for what the two laws differ in among "all others".
export const ceiling = (cats) => cats.reduce((s, c) => s + c.p * (c.others ? c.share : 1), 0);

// How many bars of q have to be set to p, the one that helps most first, until the overlap is `wanted`; null if that is not enough.
export function dragsTo(cats, wanted, most = 4) {
  let now = cats;
  for (let n = 0; n <= most; n += 1) {
    if (summary(now).overlap >= wanted) return n;
    now = now.map((c, i) => pull(now, "q", i, c.p)).reduce((best, x) => (summary(x).overlap > summary(best).overlap ? x : best));
  }
  return null;
}

// One law of a sandbox set by hand.
export function withLaw(cats, law, values) {
  return cats.map((c, i) => ({ ...c, [law]: values[i] }));
}

export const pull = (cats, law, i, value) => withLaw(cats, law, setWeight(cats.map((c) => c[law]), i, value));

// softmax(logits / t); at 0 the first choice has it all. Null logits have no part in it.
export function soften(logits, t) {
  const known = logits.filter((x) => x !== null), top = Math.max(...known);
  if (!known.length) return null;
  if (t <= 0) { const first = logits.indexOf(top); return logits.map((_, i) => (i === first ? 1 : 0)); }
  return normalise(logits.map((x) => (x === null ? 0 : Math.exp((x - top) / t))));
}

// The position at another temperature, over every listed token (exact in their proportions); the unlisted ones are left out.
export function atTemperature(box, t) {
  const p = soften(box.all.map((c) => c.lp), t), q = soften(box.all.map((c) => c.lq), t);
  if (!p || !q) return null;
  const by = new Map(box.all.map((c, k) => [c.id, k])), used = new Set(box.cats.map((c) => c.id));
  const rest = box.all.map((c, k) => (used.has(c.id) ? null : k)).filter((k) => k !== null);
  const sum = (law) => rest.reduce((s, k) => s + law[k], 0), both = rest.reduce((s, k) => s + Math.min(p[k], q[k]), 0);
  return box.cats.map((c) => {
    if (!c.others) return { ...c, p: p[by.get(c.id)], q: q[by.get(c.id)] };
    const smaller = Math.min(sum(p), sum(q));
    return { ...c, p: sum(p), q: sum(q), share: smaller > 0 ? both / smaller : 0 };
  });
}

// The rule for one draft: threshold p/q, kept if u lies below it.
export function judge(cat, u) {
  const threshold = cat.q > 0 ? cat.p / cat.q : null;
  return { threshold, verdict: threshold === null ? null : u < threshold ? "accepted" : "rejected", certain: cat.p >= cat.q };
}

export function summary(cats) {
  const full = agree(cats);
  return { cats: full, overlap: overlap(full), residual: residual(full) };
}

// Acceptance by position of a run: rounds that accepted position i over rounds that drafted it (a tree's position is its depth).
export function byPosition(trace) {
  const out = [];
  for (const round of trace.rounds) {
    const depth = depths(round), most = Math.max(-1, ...depth);
    for (let i = 0; i <= most; i++) {
      const at = (out[i] ||= { drafted: 0, accepted: 0 });
      at.drafted += 1;
      at.accepted += round.drafted.some((d, k) => depth[k] === i && d.verdict === "accepted") ? 1 : 0;
    }
  }
  return out;
}

// For every draft length: the expected tokens of a round, its cost in plain steps and the speed-up. Positions the run never drafted are
// filled with its own average: each kept with the chance that a tested draft had. The calibrated costs of draft step and pass are stretched
// so that a round of the run's own length costs exactly what a round of this run did (`cost`); `load`: how full others make the pass.
export function lengths(trace, load = 0, most = LENGTHS) {
  const seen = byPosition(trace);
  if (!seen.length) return null;
  const alpha = tally(trace).testedRate ?? 0, chance = [];
  for (let i = 0; i < most; i++)
    chance.push(seen[i] ? Math.min(seen[i].accepted / seen[i].drafted, chance[i - 1] ?? 1) : (chance[i - 1] ?? 1) * alpha);
  const costs = trace.run?.costs ?? {}, r = ratios({ passes: costs.verify_s, draft: finite(costs.draft_step_s) ?? 0 }), real = roundCost(trace);
  const drafts = seen.reduce((s, x) => s + x.drafted, 0) / seen[0].drafted;
  const own = Math.min(most, Math.round(drafts));
  const formed = r ? own * r.c + r.v(own) : 0;   // the length at which the row is the run itself
  const stretch = real && formed > 0 ? real.cost / formed : 1;
  const pass = r && filled((k) => stretch * r.v(k), load);
  let tokens = 1;
  const rows = chance.map((x, i) => {
    tokens += x;
    const cost = r ? stretch * (i + 1) * r.c + pass(i + 1) : null;
    return { k: i + 1, chance: x, measured: Boolean(seen[i]), tokens, cost, speed: cost ? tokens / cost : null };
  });
  const best = r ? rows.reduce((b, x) => (x.speed > b.speed ? x : b)).k : null;
  return {
    rows,
    best,
    alpha,
    measured: seen.length,
    cost: real?.cost ?? null,
    drafts,
    own,
    tree: trace.rounds.some(isTree),
    timed: Boolean(trace.plain),
  };
}

// The ids and texts of the output before a table's position: rounds before, then the drafted path down to `after`.
export function outputBefore(trace, r, after) {
  const tokens = trace.rounds.slice(0, r).flatMap((x) => x.emitted), path = [];
  for (let i = after; i >= 0; i = trace.rounds[r].drafted[i].parent) path.unshift(trace.rounds[r].drafted[i]);
  return [...tokens, ...path];
}

// What the server is asked for a live branch: output so far as ids and as text behind them.
export function branchRequest(trace, r, after, { forced = null, text = null } = {}) {
  const ids = trace.run?.prompt_ids;
  const base = trace.branch?.base ?? (Array.isArray(ids) ? ids.length : 0);
  const given = Array.isArray(ids) ? ids.slice(base) : [];
  const before = outputBefore(trace, r, after), prompt = typeof trace.run?.prompt === "string" ? trace.run.prompt : null;
  const shown = (trace.branch?.text ?? "") + before.map((t) => t.text).join("");
  if (text !== null) return { prompt, base, after_ids: [], after_text: text, shown: text };
  return {
    prompt,
    base,
    after_ids: [...given, ...before.map((t) => t.id), ...(forced ? [forced.id] : [])],
    after_text: "",
    shown: shown + (forced ? forced.text : ""),
  };
}
