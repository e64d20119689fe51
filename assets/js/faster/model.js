// What the charts of "Why it is faster" show, as plain numbers.
import { byPosition, roundCost, speedup, tally } from "../trace/tally.js";
import { bestLength, breakEven, expectedTokens, ratios, speedUp, wilson } from "../trace/theory.js";
import { finite, isTree } from "../trace/trace.js";

export const MOST_DRAFTS = 10;

// A run as a point in the charts: its acceptance rate with Wilson's interval, its draft length, its measured speed-up. The closed form knows no
// prompt, so the prompt's pass is left out of `measured`. In a tree, alpha is the rate of the first level. Null where nothing was tested.
export function runFacts(trace) {
  const t = tally(trace), s = speedup(trace), seen = byPosition(trace);
  if (!t.tested) return null;
  const set = finite(Number(trace.run?.draft_len)), tree = trace.rounds.some(isTree);
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

// c and v for a method from costs in the shape of theory.costsOf, whose draft steps are a map by method or a number. fallback: c where the
// method's draft step is not known.
export function ratiosFor(costs, method, fallback = null) {
  const own = costs.draft && typeof costs.draft === "object" ? costs.draft[method] : costs.draft;
  const r = ratios({ passes: costs.passes, draft: finite(own) ?? 0 });
  return r && finite(own) === null && fallback !== null ? { ...r, c: fallback } : r;
}

// What the closed form expects of rounds of k drafted tokens.
export function expectation({ alpha, k, c, v }) {
  const yields = expectedTokens(alpha, k), draft = k * c, pass = v(k), passes = Array.from({ length: MOST_DRAFTS + 1 }, (_, i) => v(i));
  return {
    speed: speedUp(alpha, k, c, pass),
    yields,
    draft,
    pass,
    all: draft + pass,
    breakEven: breakEven(k, c, pass),
    best: bestLength(alpha, c, passes),
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

// The run on the curves: the expected speed-up at its rate and at both ends of the rate's interval, [low, rate, high].
export const propagated = (facts, { c, v }) => [facts.interval[0], facts.alpha, facts.interval[1]].map((a) => speedUp(a, facts.k, c, v(facts.k)));
