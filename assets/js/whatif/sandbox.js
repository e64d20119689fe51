// A recorded position as a few categories whose probabilities can be changed, and what would then have happened. Pure functions.
import { normalise, overlap, residual, setWeight } from "../distributions/acceptance.js";
import { finite } from "../trace/trace.js";

const LISTED = 6;

// The categories of a position -> {cats, all: every listed token, at: index of the drafted one in cats}. By name: the drafted token, the one
// drawn there and the likeliest, `limit` in all; the last category is "all others". Null without q (a bonus position).
// A category is {id, text, p, q, lp, lq: logits, others, share}. share: the overlap inside the category over the smaller of its p and q;
// 1 for a single token, less where many tokens are one category.
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
  const named = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, limit));
  const cats = all.filter((c) => named.has(c)), hidden = all.filter((c) => !named.has(c));
  const left = (key) => Math.max(0, 1 - cats.reduce((s, c) => s + c[key], 0)), p = left("p"), q = left("q");
  const agreed = Math.min(p, q, (table.others.overlap ?? 0) + hidden.reduce((s, c) => s + Math.min(c.p, c.q), 0));
  cats.push({ id: null, text: "", p, q, lp: null, lq: null, others: true, share: Math.min(p, q) > 0 ? agreed / Math.min(p, q) : 0 });
  return { cats, all, at: cats.findIndex((c) => c.id === drafted && drafted !== null) };
}

// The categories with `agreed`, what p and q have in common in each.
export const agree = (cats) => cats.map((c) => ({ ...c, agreed: Math.min(c.p, c.q) * c.share }));

// The largest overlap that can be reached by changing q: all of p, less what the two distributions differ in among "all others".
export const ceiling = (cats) => cats.reduce((s, c) => s + c.p * (c.others ? c.share : 1), 0);

// How many bars of q have to be set to p, the one that helps most first, until the overlap is `wanted`; null where `most` are not enough.
export function dragsTo(cats, wanted, most = 4) {
  let now = cats;
  for (let n = 0; n <= most; n += 1) {
    if (summary(now).overlap >= wanted) return n;
    now = now.map((c, i) => pull(now, "q", i, c.p)).reduce((best, x) => (summary(x).overlap > summary(best).overlap ? x : best));
  }
  return null;
}

// The categories with other values of one distribution (key: "p" or "q").
export const withValues = (cats, key, values) => cats.map((c, i) => ({ ...c, [key]: values[i] }));

// The categories after one bar was set to `value`; the other bars of its distribution share the rest.
export const pull = (cats, key, i, value) => withValues(cats, key, setWeight(cats.map((c) => c[key]), i, value));

// softmax(logits / t); at 0 all of it is on the first choice. A token without a logit (null) has none of it.
export function soften(logits, t) {
  const known = logits.filter((x) => x !== null), top = Math.max(...known);
  if (!known.length) return null;
  if (t <= 0) return logits.map((_, i) => (i === logits.indexOf(top) ? 1 : 0));
  return normalise(logits.map((x) => (x === null ? 0 : Math.exp((x - top) / t))));
}

// The categories at another temperature. The listed tokens keep their exact proportions; the unlisted ones, whose logits are not on record,
// are left out. Null where no logits are known.
export function atTemperature(box, t) {
  const p = soften(box.all.map((c) => c.lp), t), q = soften(box.all.map((c) => c.lq), t);
  if (!p || !q) return null;
  const by = new Map(box.all.map((c, k) => [c.id, k])), used = new Set(box.cats.map((c) => c.id));
  const rest = box.all.map((c, k) => (used.has(c.id) ? null : k)).filter((k) => k !== null);
  const sum = (probs) => rest.reduce((s, k) => s + probs[k], 0), both = rest.reduce((s, k) => s + Math.min(p[k], q[k]), 0);
  return box.cats.map((c) => {
    if (!c.others) return { ...c, p: p[by.get(c.id)], q: q[by.get(c.id)] };
    const smaller = Math.min(sum(p), sum(q));
    return { ...c, p: sum(p), q: sum(q), share: smaller > 0 ? both / smaller : 0 };
  });
}

// The rule for one drafted token: it is accepted if u lies below p/q. certain: it is whatever u is. Without q both results are null.
export function judge(cat, u) {
  const ratio = cat.q > 0 ? cat.p / cat.q : null;
  return { ratio, verdict: ratio === null ? null : u < ratio ? "accepted" : "rejected", certain: cat.p >= cat.q };
}

// -> {cats with `agreed`, overlap, residual}
export function summary(cats) {
  const full = agree(cats);
  return { cats: full, overlap: overlap(full), residual: residual(full) };
}
