// What the rounds so far come to. Everything is counted from the rounds, so a streaming run, a stopped run and a file agree.
import { finite } from "./trace.js";

export function tally(trace, upto = trace.rounds.length) {
  const t = { tokens: 0, rounds: 0, drafted: 0, accepted: 0, tested: 0, draftRounds: 0, draftTokens: 0, draft_s: 0, draftRound_s: 0 };
  let before = 0;
  for (const r of trace.rounds.slice(0, upto)) {
    t.rounds += 1;
    t.tokens += r.emitted.length;
    if (r.drafted.length) {
      t.draftRounds += 1;
      t.draftTokens += r.emitted.length;
      t.draft_s += r.draft_s;
      t.draftRound_s += r.elapsed_s - before;
      for (const d of r.drafted) {
        t.drafted += 1;
        if (d.verdict !== "not_reached") t.tested += 1;
        if (d.verdict === "accepted") t.accepted += 1;
      }
    }
    before = r.elapsed_s;
  }
  t.elapsed_s = before;
  t.ttft_s = trace.rounds.length ? trace.rounds[0].elapsed_s : 0;
  t.perRound = t.draftRounds ? t.draftTokens / t.draftRounds : null;
  t.testedRate = t.tested ? t.accepted / t.tested : null;
  t.perSecond = t.elapsed_s > 0 ? t.tokens / t.elapsed_s : null;   // the prompt's pass included, as everywhere
  return t;
}

// Calibrated seconds of one plain step: measured if plain has run, else from the run's own calibration.
export function plainStep(trace) {
  const e = trace.plain?.elapsed_s;
  if (e && e.length > 1) return (e[e.length - 1] - e[0]) / (e.length - 1);
  return finite(trace.run?.costs?.plain_step_s);
}

// Seconds since start at which plain decoding had each token; estimated until it has run.
export function plainTimes(trace, n) {
  if (trace.plain?.elapsed_s?.length) return { times: trace.plain.elapsed_s, measured: true };
  const step = plainStep(trace);
  if (!step || !trace.rounds.length) return { times: [], measured: false };
  const first = trace.rounds[0].elapsed_s;
  return { times: Array.from({ length: n }, (_, i) => first + i * step), measured: false };
}

// Plain wall time over speculative wall time for the same number of tokens.
export function speedup(trace) {
  const t = tally(trace);
  const plain = plainTimes(trace, t.tokens);
  const n = Math.min(t.tokens, plain.times.length);
  if (n < 2) return { ratio: null, measured: false, tokens: n };
  let have = 0, spec = null;
  for (const r of trace.rounds) {
    have += r.emitted.length;
    if (have >= n) { spec = r.elapsed_s; break; }
  }
  const plain_s = plain.times[n - 1], writing = spec > t.ttft_s && plain_s > plain.times[0] ? (plain_s - plain.times[0]) / (spec - t.ttft_s) : null;
  return { ratio: spec > 0 ? plain_s / spec : null, writing, measured: plain.measured, tokens: n, plain_s, spec_s: spec, ttft_s: t.ttft_s };
}

// How unevenly passes of the same size were timed: [quick, slow] seconds of nine in ten of the most frequent size; null for too few.
export function passSpread(trace) {
  const sizes = new Map();
  for (const r of trace.rounds.slice(1)) {
    if (!sizes.has(r.drafted.length)) sizes.set(r.drafted.length, []);
    sizes.get(r.drafted.length).push(r.verify_s);
  }
  const times = [...sizes.values()].sort((a, b) => b.length - a.length)[0]?.sort((a, b) => a - b) ?? [];
  return times.length < 10 ? null : [times[Math.floor(0.05 * times.length)], times[Math.ceil(0.95 * times.length) - 1]];
}
export const UNEVEN = 1.6;   // slow over quick: from here on the machine was doing something else as well

// Why the ratio is what it is: what a drafting round costs, in plain steps, against what it yields.
export function roundCost(trace) {
  const t = tally(trace), step = plainStep(trace);
  return t.draftRounds && step ? { cost: t.draftRound_s / t.draftRounds / step, yield: t.perRound } : null;
}
