// What another draft length would have come to in this run: tokens of a round, its cost, its speed-up. Pure functions.
import { roundCost, tally, byPosition } from "../trace/tally.js";
import { filled, ratios } from "../trace/theory.js";
import { finite, isTree } from "../trace/trace.js";

const LENGTHS = 10;

// For each position, the chance that a round accepts it. A position that the run never drafted is estimated: accepted after the one before
// it as often as the run's tested tokens were (alpha).
function chances(seen, alpha, most) {
  const chance = [];
  for (let i = 0; i < most; i++) {
    const before = chance[i - 1] ?? 1;
    chance.push(seen[i] ? Math.min(seen[i].accepted / seen[i].drafted, before) : before * alpha);
  }
  return chance;
}

// load: how full other requests make the pass, 0 to 1. Costs are in plain steps. The calibrated costs of draft step and pass are scaled so
// that a round of the run's own length costs what a round of this run really did. -> {rows: [{k, chance, measured, tokens, cost, speed}],
// best: length with the largest speed-up (null without costs), own: the run's own length, ...} or null where nothing was drafted.
export function lengths(trace, load = 0, most = LENGTHS) {
  const seen = byPosition(trace);
  if (!seen.length) return null;
  const alpha = tally(trace).testedRate ?? 0, costs = trace.run?.costs ?? {}, real = roundCost(trace);
  const r = ratios({ passes: costs.verify_s, draft: finite(costs.draft_step_s) ?? 0 });
  const drafts = seen.reduce((s, x) => s + x.drafted, 0) / seen[0].drafted, own = Math.min(most, Math.round(drafts));
  const calibrated = r ? own * r.c + r.v(own) : 0, scale = real && calibrated > 0 ? real.cost / calibrated : 1;
  const pass = r && filled((k) => scale * r.v(k), load);
  let tokens = 1;
  const rows = chances(seen, alpha, most).map((chance, i) => {
    tokens += chance;
    const cost = r ? scale * (i + 1) * r.c + pass(i + 1) : null;
    return { k: i + 1, chance, measured: Boolean(seen[i]), tokens, cost, speed: cost ? tokens / cost : null };
  });
  const best = r ? rows.reduce((b, x) => (x.speed > b.speed ? x : b)).k : null;
  const tree = trace.rounds.some(isTree), timed = Boolean(trace.plain);
  return { rows, best, alpha, measured: seen.length, cost: real?.cost ?? null, drafts, own, tree, timed };
}
