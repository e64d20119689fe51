// The lesson's ten steps: what run each needs and when it is done. Pure functions of what the player shows.
import { settleIndex, tableFor, verdictOrder } from "../trace/steps.js";
import { isTree } from "../trace/trace.js";
import { ceiling, dragsTo, lengths, sandbox, summary } from "../whatif/model.js";

const ended = (round) => { const k = settleIndex(round); return k >= 0 ? round.emitted[k].kind : null; };
const tested = (d) => d.verdict === "accepted" || d.verdict === "rejected";
const chainSampled = (trace) =>
  trace.run?.verify === "chain" && trace.rounds.some((r) => r.drafted.some((d) => d.u !== null)) && !trace.rounds.some(isTree);
const anyDraft = (trace, test) => trace.rounds.some((r) => r.drafted.some(test));
const doubtful = (d) => tested(d) && d.u !== null && d.q > 0 && d.p < d.q;

// The place to predict: a tested token whose fate is open (p/q far from 0 and 1), preferably with something kept before it.
export function predictPlace(trace) {
  let best = null;
  trace.rounds.forEach((round, r) => verdictOrder(round).forEach((i, k) => {
    const d = round.drafted[i];
    if (!doubtful(d)) return;
    const score = Math.abs(d.p / d.q - 0.55) - (k > 0 ? 0.15 : 0) - (r > 1 ? 0.05 : 0);
    if (!best || score < best.score) best = { r, i, k, score };
  }));
  return best && { r: best.r, i: best.i, k: best.k };
}

// A tested place at which a step can be done and seen: to pull q to an overlap of 0.95 few drags must be enough, to watch the dice land on p
// a good part must be kept and a good part resampled. The place with the lowest score, or null.
export function goodPlace(id, trace) {
  let best = null;
  trace.rounds.forEach((round, r) => round.drafted.forEach((d, i) => {
    const table = r > 0 && tested(d) && d.u !== null ? tableFor(round, i) : null;
    const box = table ? sandbox(table, { drafted: d.id, drawn: round.emitted.at(-1)?.id ?? null }) : null;
    if (!box || box.at < 0) return;
    const { overlap } = summary(box.cats);
    // A token that is all of p would be the only bar to see.
    if (id === "roll") {
      const score = Math.abs(overlap - 0.55) + Math.max(0, 3 - box.cats.filter((c) => !c.others && c.p >= 0.05).length);
      if (!best || score < best.score) best = { r, i, score };
      return;
    }
    if (overlap > 0.85 || ceiling(box.cats) < 0.97) return;
    const drags = dragsTo(box.cats, AGREED);
    if (drags !== null && (!best || drags < best.score)) best = { r, i, score: drags };
  }));
  return best && { r: best.r, i: best.i };
}
export const AGREED = 0.95;

// The step at which a token's verdict falls.
export const verdictStep = (steps, place) => steps.findIndex((s) => s.r === place.r && s.phase === "verdict" && s.i === place.i);

const ofKind = (kind) => (r) => ended(r) === kind;
const sure = (r) => r.drafted.some((d) => tested(d) && d.u !== null && d.p >= d.q);
const SEARCHED = { bonus: ofKind("bonus"), replaced: ofKind("recovered"), certain: sure };
// For a step that sends the reader searching: the first rounds, three at most, in which it is found.
export const foundIn = (id, trace) => trace.rounds.flatMap((r, k) => (k > 0 && SEARCHED[id]?.(r) ? [k] : [])).slice(0, 3);

// In which step the answer to each question of the last one is found.
export const ANSWERED_IN = [1, 7, 9, 4];

// s: {trace, step, sel, settled, whatif, answer}; `needs` says whether a recording can show it at all; `control`: where it is done.
export const LESSON = [
  { id: "pass", control: ".ss-forward", needs: (t) => anyDraft(t, () => true), done: (s) => s.step.phase === "verify" || s.step.phase === "verdict" },
  { id: "predict", needs: (t) => chainSampled(t) && predictPlace(t) !== null, done: (s) => s.answer !== null },
  { id: "bonus", control: ".ss-scrub", needs: (t) => t.rounds.some(SEARCHED.bonus), done: (s) => s.settled && ended(s.round) === "bonus" },
  {
    id: "replaced",
    control: ".ss-scrub",
    needs: (t) => t.rounds.some(SEARCHED.replaced),
    done: (s) => s.settled && ended(s.round) === "recovered" && (s.sel === "end" || s.round.drafted[s.sel]?.verdict === "rejected"),
  },
  {
    id: "certain",
    control: ".ss-scrub",
    needs: (t) => chainSampled(t) && anyDraft(t, (d) => tested(d) && d.p >= d.q),
    done: (s) => {
      const d = s.round.drafted[s.sel];
      return Boolean(d) && s.step.phase !== "draft" && s.step.phase !== "verify" && tested(d) && d.u !== null && d.p >= d.q;
    },
  },
  {
    id: "reject",
    whatif: true,
    control: ".ss-u",
    needs: (t) => chainSampled(t) && anyDraft(t, (d) => d.verdict === "accepted" && doubtful(d)),
    done: (s) => s.whatif.ready && s.whatif.was === "accepted" && s.whatif.verdict === "rejected" && s.whatif.changedU,
  },
  {
    id: "roll",
    whatif: true,
    control: ".ss-roll",
    needs: (t) => chainSampled(t) && goodPlace("roll", t) !== null,
    done: (s) => s.whatif.ready && s.whatif.rolled >= 1000,
  },
  {
    id: "agree",
    whatif: true,
    control: ".ss-lawbar.ss-q",
    needs: (t) => chainSampled(t) && goodPlace("agree", t) !== null,
    done: (s) => s.whatif.ready && s.whatif.touched && s.whatif.overlap >= AGREED,
  },
  {
    id: "length",
    whatif: true,
    control: '.ss-length[aria-checked="true"]',
    needs: (t) => {
      const l = lengths(t);
      return Boolean(l?.best) && l.rows[0].speed >= 1;
    },
    done: (s) => s.whatif.open && s.whatif.length.slow,
  },
  { id: "quiz", needs: () => true, done: (s) => s.answer === "all" },
];
export const QUIZ = LESSON.length;

// Where a step opens: a round in which there is something to do, so that nobody has to search for minutes. `place`: the token it is about.
export function openingStep(id, trace, steps, ends, place = openingPlace(id, trace)) {
  const find = (test) => trace.rounds.findIndex((r, k) => k > 0 && test(r));
  if (id === "pass") { const r = Math.max(0, find((x) => x.drafted.length > 1)); return r ? ends[r - 1] + 1 : 0; }
  if (place) return verdictStep(steps, place) - (id === "predict" ? 1 : 0);
  const wanted = { bonus: (r) => ended(r) === "recovered", replaced: (r) => ended(r) === "bonus" || r.drafted.every((d) => d.verdict === "accepted"),
    certain: (r) => r.drafted.length > 1 && ended(r) === "recovered" }[id];
  const r = wanted ? find(wanted) : -1;
  return r >= 0 ? ends[r] : ends[Math.min(1, ends.length - 1)];
}

// The token that a step is about, where there is one: the player then stands at its verdict (for `predict` just before it).
export function openingPlace(id, trace) {
  if (id === "predict") return predictPlace(trace);
  if (id === "roll" || id === "agree") return goodPlace(id, trace);
  if (id !== "reject") return null;
  const kept = (d) => d.verdict === "accepted" && doubtful(d), r = trace.rounds.findIndex((x, k) => k > 0 && x.drafted.some(kept));
  return r < 0 ? null : { r, i: trace.rounds[r].drafted.findIndex(kept) };
}

export const isDone = (mask, n) => ((mask >> (n - 1)) & 1) === 1;
export const withDone = (mask, n) => mask | (1 << (n - 1));
export const withoutDone = (mask, n) => mask & ~(1 << (n - 1));
export const countDone = (mask) => LESSON.filter((_, i) => isDone(mask, i + 1)).length;
