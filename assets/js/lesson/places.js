// Where the steps of the lesson open in a recorded run, so that nobody has to search. Pure functions. A place is {r, i}: round and drafted token.
import { settleIndex, tableFor, testedOrder } from "../trace/steps.js";
import { ceiling, dragsTo, sandbox, summary } from "../whatif/sandbox.js";

export const AGREED = 0.95;   // the overlap that the step "agree" asks for

// The kind of the token that closed a round; null where there is none.
export const closing = (round) => round.emitted[settleIndex(round)]?.kind ?? null;
export const tested = (d) => d.verdict === "accepted" || d.verdict === "rejected";
// A tested token whose acceptance was left to chance.
export const doubtful = (d) => tested(d) && d.u !== null && d.q > 0 && d.p < d.q;

// The places of a run with a score each, and of them the one with the lowest score, or null. scored: [{r, i, score}].
const lowest = (scored) => scored.reduce((best, x) => (!best || x.score < best.score ? x : best), null);

// The place to predict: a token whose p/q is far from 0 and 1, rather behind an accepted one and not in the first round. k: its number among
// the tested tokens of its round.
export function predictPlace(trace) {
  const scored = trace.rounds.flatMap((round, r) =>
    testedOrder(round).flatMap((i, k) => {
      const d = round.drafted[i];
      return doubtful(d) ? [{ r, i, k, score: Math.abs(d.p / d.q - 0.55) - (k > 0 ? 0.15 : 0) - (r > 1 ? 0.05 : 0) }] : [];
    }),
  );
  const best = lowest(scored);
  return best && { r: best.r, i: best.i, k: best.k };
}

// How well a position shows a step, the less the better; null where it does not. "roll": a good part accepted and a good part resampled, and
// three bars to see. "agree": few drags reach the overlap that is asked for.
function scoreOf(id, { cats }) {
  const { overlap } = summary(cats);
  if (id === "roll") return Math.abs(overlap - 0.55) + Math.max(0, 3 - cats.filter((c) => !c.others && c.p >= 0.05).length);
  return overlap > 0.85 || ceiling(cats) < 0.97 ? null : dragsTo(cats, AGREED);
}

// The place at which the step "roll" or "agree" can be done and seen best, or null.
export function goodPlace(id, trace) {
  const scored = trace.rounds.flatMap((round, r) =>
    round.drafted.flatMap((d, i) => {
      const table = r > 0 && tested(d) && d.u !== null ? tableFor(round, i) : null;
      const box = table ? sandbox(table, { drafted: d.id, drawn: round.emitted.at(-1)?.id ?? null }) : null;
      const score = box && box.at >= 0 ? scoreOf(id, box) : null;
      return score === null ? [] : [{ r, i, score }];
    }),
  );
  const best = lowest(scored);
  return best && { r: best.r, i: best.i };
}

// The index of the step at which the token of a place is tested.
export const acceptanceStep = (steps, place) => steps.findIndex((s) => s.r === place.r && s.phase === "acceptance" && s.i === place.i);

// The token that a step is about, or null. The player then stands where it is tested (for "predict" just before).
export function openingPlace(id, trace) {
  if (id === "predict") return predictPlace(trace);
  if (id === "roll" || id === "agree") return goodPlace(id, trace);
  if (id !== "reject") return null;
  const luckily = (d) => d.verdict === "accepted" && doubtful(d), r = trace.rounds.findIndex((x, k) => k > 0 && x.drafted.some(luckily));
  return r < 0 ? null : { r, i: trace.rounds[r].drafted.findIndex(luckily) };
}

// The steps that send the reader searching open in a round that is not yet what they ask for.
const BESIDE = {
  bonus: (round) => closing(round) === "recovered",
  replaced: (round) => closing(round) === "bonus" || round.drafted.every((d) => d.verdict === "accepted"),
  certain: (round) => round.drafted.length > 1 && closing(round) === "recovered",
};

// The index of the step of the run at which a step of the lesson opens.
export function openingStep(id, trace, steps, ends, place = openingPlace(id, trace)) {
  const find = (test) => trace.rounds.findIndex((round, k) => k > 0 && test(round));
  if (id === "pass") {
    const r = find((round) => round.drafted.length > 1);
    return r > 0 ? ends[r - 1] + 1 : 0;
  }
  if (place) return acceptanceStep(steps, place) - (id === "predict" ? 1 : 0);
  const r = BESIDE[id] ? find(BESIDE[id]) : -1;
  return r >= 0 ? ends[r] : ends[Math.min(1, ends.length - 1)];
}
