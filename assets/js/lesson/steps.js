// The ten steps of the lesson: which run can show each, and when it is done. Pure functions of what the player shows.
import { isTree } from "../trace/trace.js";
import { lengths } from "../whatif/lengths.js";
import { AGREED, closing, doubtful, goodPlace, predictPlace, tested } from "./places.js";

const chainSampled = (trace) =>
  trace.run?.verify === "chain" && trace.rounds.some((r) => r.drafted.some((d) => d.u !== null)) && !trace.rounds.some(isTree);
const anyDraft = (trace, test) => trace.rounds.some((r) => r.drafted.some(test));
// A token that is accepted whatever u is.
const certain = (d) => tested(d) && d.u !== null && d.p >= d.q;

const SEARCHED = {
  bonus: (round) => closing(round) === "bonus",
  replaced: (round) => closing(round) === "recovered",
  certain: (round) => round.drafted.some(certain),
};
// For a step that sends the reader searching: the first rounds, three at most, in which it can be done.
export const foundIn = (id, trace) => trace.rounds.flatMap((round, k) => (k > 0 && SEARCHED[id]?.(round) ? [k] : [])).slice(0, 3);

// For each question of the last step, the step in which its answer is found.
export const ANSWERED_IN = [1, 7, 9, 4];

// needs(trace): whether a run can show the step. done(state): whether it is done; state: {trace, step, round, sel, settled, whatif, answer}.
// control: where it is done, a selector within the player. whatif: it is done in the panel "What if".
export const LESSON = [
  {
    id: "pass",
    control: ".ss-forward",
    needs: (trace) => anyDraft(trace, () => true),
    done: ({ step }) => step.phase === "verify" || step.phase === "acceptance",
  },
  { id: "predict", needs: (trace) => chainSampled(trace) && predictPlace(trace) !== null, done: ({ answer }) => answer !== null },
  {
    id: "bonus",
    control: ".ss-scrub",
    needs: (trace) => trace.rounds.some(SEARCHED.bonus),
    done: ({ settled, round }) => settled && closing(round) === "bonus",
  },
  {
    id: "replaced",
    control: ".ss-scrub",
    needs: (trace) => trace.rounds.some(SEARCHED.replaced),
    done: ({ settled, round, sel }) =>
      settled && closing(round) === "recovered" && (sel === "end" || round.drafted[sel]?.verdict === "rejected"),
  },
  {
    id: "certain",
    control: ".ss-scrub",
    needs: (trace) => chainSampled(trace) && anyDraft(trace, (d) => tested(d) && d.p >= d.q),
    done({ step, round, sel }) {
      const d = round.drafted[sel];
      return Boolean(d) && step.phase !== "draft" && step.phase !== "verify" && certain(d);
    },
  },
  {
    id: "reject",
    whatif: true,
    control: ".ss-u",
    needs: (trace) => chainSampled(trace) && anyDraft(trace, (d) => d.verdict === "accepted" && doubtful(d)),
    done: ({ whatif }) => whatif.ready && whatif.was === "accepted" && whatif.verdict === "rejected" && whatif.changedU,
  },
  {
    id: "roll",
    whatif: true,
    control: ".ss-roll",
    needs: (trace) => chainSampled(trace) && goodPlace("roll", trace) !== null,
    done: ({ whatif }) => whatif.ready && whatif.rolled >= 1000,
  },
  {
    id: "agree",
    whatif: true,
    control: ".ss-distbar.ss-q",
    needs: (trace) => chainSampled(trace) && goodPlace("agree", trace) !== null,
    done: ({ whatif }) => whatif.ready && whatif.touched && whatif.overlap >= AGREED,
  },
  {
    id: "length",
    whatif: true,
    control: '.ss-length[aria-checked="true"]',
    needs(trace) {
      const known = lengths(trace);
      return Boolean(known?.best) && known.rows[0].speed >= 1;
    },
    done: ({ whatif }) => whatif.open && whatif.length.slow,
  },
  { id: "quiz", needs: () => true, done: ({ answer }) => answer === "all" },
];
export const QUIZ = LESSON.length;

// Progress is a number, `mask`, with a bit for each step; n counts from 1.
export const isDone = (mask, n) => ((mask >> (n - 1)) & 1) === 1;
export const withDone = (mask, n) => mask | (1 << (n - 1));
export const withoutDone = (mask, n) => mask & ~(1 << (n - 1));
export const countDone = (mask) => LESSON.filter((_, i) => isDone(mask, i + 1)).length;
