// The text of a trace -> {run, rounds, totals, plain}. It reads both forms: the stream of lines, which grows, and the file of one object.
// Unknown keys and lines are ignored, the last line with totals counts, and a half-written last line waits for its end.

const VERDICTS = ["accepted", "rejected", "not_reached"];
const KINDS = ["accepted", "recovered", "bonus", "plain"];

export function emptyTrace() {
  return { run: null, source: null, name: null, branch: null, rounds: [], totals: null, plain: null, progress: null };
}

export const finite = (x) => (typeof x === "number" && Number.isFinite(x) ? x : null);
const list = (x) => (Array.isArray(x) ? x : []);
const text = (x) => (typeof x === "string" ? x : "");

// coupled: target and draft share their dice (`--verify coupled`), so no u decided.
function cleanDrafted(d, i, coupled) {
  const parent = Number.isInteger(d.parent) && d.parent < i && d.parent >= -1 ? d.parent : i - 1;
  return { id: finite(d.id), text: text(d.text), parent, p: finite(d.p), q: finite(d.q), u: finite(d.u), threshold: finite(d.threshold),
    verdict: VERDICTS.includes(d.verdict) ? d.verdict : "not_reached", ...(coupled ? { coupled } : {}),
    ...(d.forced === true ? { forced: true } : {}) };
}

// What a grammar removed at a position: how many ids it allows, the mass on all others, and the likeliest of these.
function cleanMask(m) {
  const p = list(m.p).map(finite);
  return { allowed: finite(m.allowed), removed: finite(m.removed), texts: list(m.texts).map(text).slice(0, p.length), p };
}

function cleanTable(t) {
  const n = list(t.ids).length;
  const column = (c) => (Array.isArray(c) ? Array.from({ length: n }, (_, i) => finite(c[i])) : null);
  const o = t.others || {};
  return {
    after: Number.isInteger(t.after) ? t.after : -1,
    ids: list(t.ids),
    texts: Array.from({ length: n }, (_, i) => text(list(t.texts)[i])),
    p: column(t.p),
    q: column(t.q),
    residual: column(t.residual),
    logit_p: column(t.logit_p),
    logit_q: column(t.logit_q),
    overlap: finite(t.overlap),
    ...(t.mask && typeof t.mask === "object" ? { mask: cleanMask(t.mask) } : {}),
    others: { p: finite(o.p), q: finite(o.q), overlap: finite(o.overlap), residual: finite(o.residual) },
  };
}

// Why a drafted token of a tree was not tested: a sibling of it was accepted ("passed"), or its branch was rejected before it ("branch").
// In a chain there is one reason only: an earlier token was rejected.
function sayUntested(drafted) {
  if (!isTree({ drafted })) return drafted;
  for (const d of drafted.filter((x) => x.verdict === "not_reached")) {
    d.untested = drafted.some((x) => x.parent === d.parent && x.verdict === "accepted") ? "passed" : "branch";
  }
  return drafted;
}

function cleanRound(r, index, coupled) {
  return { index, start: finite(r.start) ?? 0, draft_len: finite(r.draft_len),
    drafted: sayUntested(list(r.drafted).map((d, i) => cleanDrafted(d, i, coupled))),
    emitted: list(r.emitted).map((e) => ({ id: finite(e.id), text: text(e.text), kind: KINDS.includes(e.kind) ? e.kind : "plain",
      ...(e.forced === true ? { forced: true } : {}) })),
    tables: list(r.tables).map(cleanTable),
    draft_s: finite(r.draft_s) ?? 0, verify_s: finite(r.verify_s) ?? 0, other_s: finite(r.other_s) ?? 0, elapsed_s: finite(r.elapsed_s) ?? 0 };
}

// A run that continues another one: the output it was given, as text, and where in `prompt_ids` that output begins.
function cleanBranch(b) {
  return { text: text(b.text), base: Number.isInteger(b.base) && b.base >= 0 ? b.base : 0 };
}

function take(trace, data) {
  if (!data || typeof data !== "object") return;
  if (data.run && typeof data.run === "object") trace.run = data.run;
  if (typeof data.source === "string") trace.source = data.source;
  if (typeof data.name === "string") trace.name = data.name;
  if (data.branch && typeof data.branch === "object") trace.branch = cleanBranch(data.branch);
  const coupled = isCoupled(trace);
  if (Array.isArray(data.rounds)) trace.rounds = data.rounds.map((r, i) => cleanRound(r, i, coupled));
  if (Array.isArray(data.emitted) && Array.isArray(data.drafted)) trace.rounds.push(cleanRound(data, trace.rounds.length, coupled));
  if (data.totals && typeof data.totals === "object") {
    trace.totals = data.totals;
    trace.plain = data.plain && Array.isArray(data.plain.elapsed_s) ? cleanPlain(data.plain) : null;
  }
  if (data.plain_progress && typeof data.plain_progress === "object") trace.progress = finite(data.plain_progress.tokens);
}

// Plain decoding of the same prompt: the time of each token, and the texts where there is one for each time.
function cleanPlain(plain) {
  const elapsed_s = plain.elapsed_s.filter((x) => finite(x) !== null), texts = list(plain.texts).map(text);
  return { ...plain, elapsed_s, texts: texts.length === elapsed_s.length ? texts : null };
}

export function parseJson(text) {
  try { return JSON.parse(text); } catch { return null; }
}

// A reader remembers how far it has read: of a text that has grown it reads the new lines only. read(text) -> {trace, fresh: whether it
// began anew}.
export function makeReader() {
  let seen = "", trace = emptyTrace();
  return {
    read(value) {
      const all = typeof value === "string" ? value : "";
      const fresh = seen === "" || !all.startsWith(seen);
      if (fresh) {
        seen = "";
        trace = emptyTrace();
        const whole = all.trimEnd();
        const first = whole.indexOf("\n");
        if (first < 0 || parseJson(whole.slice(0, first)) === null) {   // one object, perhaps indented
          const data = whole ? parseJson(whole) : null;
          if (data) { take(trace, data); seen = all; return { trace, fresh }; }
        }
      }
      const end = all.lastIndexOf("\n") + 1;
      for (const line of all.slice(seen.length, end).split("\n")) if (line) take(trace, parseJson(line));
      seen = all.slice(0, end);
      return { trace, fresh };
    },
  };
}

// Whether a round drafted more than one branch.
export const isTree = (round) => round.drafted.some((d, i) => d.parent !== i - 1);
export const isGreedy = (trace) => Number(trace.run?.sampling?.temperature ?? NaN) === 0;
// Whether target and draft shared their dice. At temperature 0 there are no dice.
export const isCoupled = (trace) => trace.run?.verify === "coupled" && !isGreedy(trace);
