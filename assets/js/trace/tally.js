// Totals of a run, counted from its rounds, so that a run in progress, a stopped run and a file agree.
import { depths } from "./steps.js";
import { finite } from "./trace.js";

// Of the first `upto` rounds.
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
      for (const d of r.drafted.filter((x) => !x.forced)) {   // what a grammar forces is certain: no merit of the draft
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

// Seconds of one step of plain decoding: measured if it has run, else from the run's calibration; null where neither is known.
export function plainStep(trace) {
  const e = trace.plain?.elapsed_s;
  if (e && e.length > 1) return (e[e.length - 1] - e[0]) / (e.length - 1);
  return finite(trace.run?.costs?.plain_step_s);
}

// Seconds since its start at which plain decoding had each token: measured if it has run, else estimated for n tokens.
export function plainTimes(trace, n) {
  if (trace.plain?.elapsed_s?.length) return { times: trace.plain.elapsed_s, measured: true };
  const step = plainStep(trace);
  if (!step || !trace.rounds.length) return { times: [], measured: false };
  const first = trace.rounds[0].elapsed_s;
  return { times: Array.from({ length: n }, (_, i) => first + i * step), measured: false };
}

// Plain wall time over speculative wall time for the same number of tokens. `writing`: the same without the prompt's pass.
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
  const plain_s = plain.times[n - 1], both = spec > t.ttft_s && plain_s > plain.times[0];
  const writing = both ? (plain_s - plain.times[0]) / (spec - t.ttft_s) : null;
  return { ratio: spec > 0 ? plain_s / spec : null, writing, measured: plain.measured, tokens: n, plain_s, spec_s: spec, ttft_s: t.ttft_s };
}

// How unevenly passes of one size were timed: the 5 % and 95 % quantiles, in seconds, of the most frequent size; null for fewer than ten.
export function passSpread(trace) {
  const sizes = new Map();
  for (const r of trace.rounds.slice(1)) {
    if (!sizes.has(r.drafted.length)) sizes.set(r.drafted.length, []);
    sizes.get(r.drafted.length).push(r.verify_s);
  }
  const times = [...sizes.values()].sort((a, b) => b.length - a.length)[0]?.sort((a, b) => a - b) ?? [];
  return times.length < 10 ? null : [times[Math.floor(0.05 * times.length)], times[Math.ceil(0.95 * times.length) - 1]];
}
// slow / quick from which on the machine was doing something else as well.
export const UNEVEN = 1.6;

// The drafted tokens that no grammar forced, each under the nearest of them above it.
function freeOf(drafted) {
  const place = [], out = [];
  drafted.forEach((d, i) => {
    const parent = d.parent < 0 ? -1 : place[d.parent];
    place[i] = d.forced ? parent : out.push({ ...d, parent }) - 1;
  });
  return out;
}

// Acceptance by position: for each position, how many rounds drafted it and how many accepted it (in a tree the position is the depth).
export function byPosition(trace) {
  const out = [];
  for (const round of trace.rounds) {
    const free = { drafted: freeOf(round.drafted) }, depth = depths(free), most = Math.max(-1, ...depth);
    for (let i = 0; i <= most; i++) {
      const at = (out[i] ||= { drafted: 0, accepted: 0 });
      at.drafted += 1;
      at.accepted += free.drafted.some((d, k) => depth[k] === i && d.verdict === "accepted") ? 1 : 0;
    }
  }
  return out;
}

// What a drafting round cost, in plain steps, and how many tokens it yielded; null where one is unknown.
export function roundCost(trace) {
  const t = tally(trace), step = plainStep(trace);
  return t.draftRounds && step ? { cost: t.draftRound_s / t.draftRounds / step, yield: t.perRound } : null;
}
