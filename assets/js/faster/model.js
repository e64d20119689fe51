// What the charts of "Why it is faster" show, as plain numbers.
import { roundCost, speedup, tally } from "../trace/tally.js";
import { bestLength, breakEven, expectedTokens, ratios, speedUp, wilson } from "../trace/theory.js";
import { finite, isTree } from "../trace/trace.js";
import { byPosition } from "../whatif/model.js";

export const MOST_DRAFTS = 10;

// A run: how often its drafts were kept (with Wilson's interval), how many it drafted, what was measured. The prompt's pass is in no round
// of the closed form, so it is left out of `measured` too. In a tree one of several branches is kept at a depth: `alpha` is that of the first.
export function runFacts(trace) {
  const t = tally(trace), s = speedup(trace), set = finite(Number(trace.run?.draft_len)), tree = trace.rounds.some(isTree), seen = byPosition(trace);
  if (!t.tested) return null;
  const drafted = seen.reduce((n, x) => n + x.drafted, 0) / t.draftRounds, alpha = tree ? seen[0].accepted / seen[0].drafted : t.testedRate;
  return {
    tree,
    headline: s.measured ? s.ratio : null,
    tested: t.tested,
    accepted: t.accepted,
    alpha,
    interval: wilson(t.accepted, t.tested),
    k: Math.min(MOST_DRAFTS, Math.max(1, set || Math.round(drafted))),
    method: String(trace.run?.method ?? ""),
    measured: s.measured ? s.writing : null,
    cost: roundCost(trace),
    positions: seen.map((x, i) => ({ ...x, share: x.accepted / x.drafted, interval: wilson(x.accepted, x.drafted), iid: alpha ** (i + 1) })),
  };
}

// c and v for a method from costs in the shape of theory.costsOf. A map of draft steps is by method; a number is the run's own.
export function ratiosFor(costs, method, fallback = null) {
  const own = costs.draft && typeof costs.draft === "object" ? costs.draft[method] : costs.draft;
  const r = ratios({ passes: costs.passes, draft: finite(own) ?? 0 });
  return r && finite(own) === null && fallback !== null ? { ...r, c: fallback } : r;
}

export function expectation({ alpha, k, c, v }) {
  const yields = expectedTokens(alpha, k), draft = k * c, pass = v(k);
  return {
    speed: speedUp(alpha, k, c, pass),
    yields,
    draft,
    pass,
    all: draft + pass,
    breakEven: breakEven(k, c, pass),
    best: bestLength(
      alpha,
      c,
      Array.from({ length: MOST_DRAFTS + 1 }, (_, i) => v(i)),
    ),
  };
}

export const overLength = ({ alpha, c, v }) =>
  Array.from({ length: MOST_DRAFTS }, (_, i) => ({
    k: i + 1,
    speed: speedUp(alpha, i + 1, c, v(i + 1)),
    yields: expectedTokens(alpha, i + 1),
    cost: (i + 1) * c + v(i + 1),
  }));

export const overAlpha = ({ k, c, v }, steps = 50) =>
  Array.from({ length: steps + 1 }, (_, i) => ({ alpha: i / steps, speed: speedUp(i / steps, k, c, v(k)) }));

// The run's own place on the curves: what the form says for the rate and for both ends of its interval.
export const propagated = (facts, { c, v }) => [facts.interval[0], facts.alpha, facts.interval[1]].map((a) => speedUp(a, facts.k, c, v(facts.k)));
