// Several recorded methods on one clock, as plain numbers. All lanes have the same number of tokens, so that only time makes the difference.
import { isCoupled, isGreedy } from "../trace/trace.js";

// A recording's lane: its tokens, each with the second at which it was there.
export function laneOf(name, trace) {
  const tokens = trace.rounds.flatMap((r) => r.emitted.map((e) => ({ text: e.text, kind: e.kind, t: r.elapsed_s })));
  return { name, tokens, end: tokens.at(-1)?.t ?? 0, texts: true };
}

// Plain decoding's lane, from the times that a recording has of it; null without them. Older recordings lack its text, which is known only at
// temperature 0 and with shared dice: there it is the recording's own. texts: whether the texts are known.
export function plainLane(name, trace) {
  const times = trace.plain?.elapsed_s ?? [];
  if (times.length < 2) return null;
  const same = (isGreedy(trace) || isCoupled(trace)) && trace.run?.lossless !== false;
  const texts = trace.plain.texts ?? (same ? trace.rounds.flatMap((r) => r.emitted.map((e) => e.text)) : null);
  return { name, tokens: times.map((t, i) => ({ text: texts?.[i] ?? "", kind: "plain", t })), end: times.at(-1), texts: texts !== null };
}

// The recordings of an example that race. Where a method has a coupled one, its others stay out: all coupled ones write the same text.
export function racing(entries) {
  const coupled = (x) => x.verify === "coupled" && x.temperature > 0;
  return entries.filter((x) => coupled(x) || !entries.some((other) => coupled(other) && other.method === x.method));
}

// Whether all of these traces are sampled with one seed and shared dice, so that their texts are one.
export const oneText = (traces) => traces.every(isCoupled) && new Set(traces.map((trace) => trace.run?.seed)).size === 1;

// How many tokens a lane has after t seconds. from: a guess to begin with.
export function reached(tokens, t, from = 0) {
  let n = from > 0 && tokens[from - 1]?.t > t ? 0 : from;
  while (n < tokens.length && tokens[n].t <= t) n += 1;
  return n;
}

export const laneRate = (lane) => (lane.end > 0 ? lane.tokens.length / lane.end : 0);

// entries: {lane, trace, plain: true for plain decoding itself}. All lanes are cut to the tokens of the shortest. The machine was not equally
// quick at every recording. Where plain decoding was timed beside each, a lane's clock is stretched so that those plain runs take the same
// time; then the lanes come in in the order of their speed-ups. -> {tokens, lanes: [{...entry, lane, stretch, ratio}], stretched}
export function sameStart(entries) {
  const n = Math.min(...entries.map((x) => x.lane.tokens.length));
  const own = (x) => (x.plain ? x.lane.tokens[n - 1]?.t : x.trace.plain?.elapsed_s?.[n - 1]) ?? null;
  if (!entries.length || n < 1) return { tokens: 0, lanes: [], stretched: false };
  const first = entries.find((x) => x.plain) ?? entries.find((x) => own(x)), common = first ? own(first) : null;
  const lanes = entries.map((x) => {
    const beside = own(x);
    const stretch = common && beside ? common / beside : 1;
    const tokens = x.lane.tokens.slice(0, n).map((t) => ({ ...t, t: t.t * stretch }));
    return { ...x, lane: { ...x.lane, tokens, end: tokens.at(-1).t }, stretch, ratio: beside ? beside / x.lane.tokens[n - 1].t : null };
  });
  return { tokens: n, lanes, stretched: lanes.some((x) => Math.abs(x.stretch - 1) > 0.02) };
}
