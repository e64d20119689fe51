// Trace text -> {run, rounds, totals, plain}. Reads the NDJSON stream (which only grows) and the one-object file form alike.
// Tolerant by rule: unknown keys and lines are ignored, the last totals line wins, a half-written last line waits.

const VERDICTS = ["accepted", "rejected", "not_reached"];
const KINDS = ["accepted", "recovered", "bonus", "plain"];

export function emptyTrace() {
  return { run: null, source: null, name: null, branch: null, rounds: [], totals: null, plain: null, progress: null };
}

export const finite = (x) => (typeof x === "number" && Number.isFinite(x) ? x : null);
const list = (x) => (Array.isArray(x) ? x : []);
const text = (x) => (typeof x === "string" ? x : "");

function cleanDrafted(d, i) {
  const parent = Number.isInteger(d.parent) && d.parent < i && d.parent >= -1 ? d.parent : i - 1;
  return { id: finite(d.id), text: text(d.text), parent, p: finite(d.p), q: finite(d.q), u: finite(d.u), threshold: finite(d.threshold),
    verdict: VERDICTS.includes(d.verdict) ? d.verdict : "not_reached" };
}

function cleanTable(t) {
  const n = list(t.ids).length;
  const column = (c) => (Array.isArray(c) ? Array.from({ length: n }, (_, i) => finite(c[i])) : null);
  const o = t.others || {};
  return { after: Number.isInteger(t.after) ? t.after : -1, ids: list(t.ids), texts: Array.from({ length: n }, (_, i) => text(list(t.texts)[i])),
    p: column(t.p), q: column(t.q), residual: column(t.residual), logit_p: column(t.logit_p), logit_q: column(t.logit_q), overlap: finite(t.overlap),
    others: { p: finite(o.p), q: finite(o.q), overlap: finite(o.overlap), residual: finite(o.residual) } };
}

// Why a tree's guess was not tested: another one at its place was kept, or its branch ended before it. In a chain it stands behind a rejection.
function sayUntested(drafted) {
  const tree = isTree({ drafted });
  for (const d of drafted)
    if (tree && d.verdict === "not_reached")
      d.untested = drafted.some((x) => x.parent === d.parent && x.verdict === "accepted") ? "passed" : "branch";
  return drafted;
}

export function cleanRound(r, index) {
  return { index, start: finite(r.start) ?? 0, draft_len: finite(r.draft_len),
    drafted: sayUntested(list(r.drafted).map(cleanDrafted)),
    emitted: list(r.emitted).map((e) => ({ id: finite(e.id), text: text(e.text), kind: KINDS.includes(e.kind) ? e.kind : "plain" })),
    tables: list(r.tables).map(cleanTable),
    draft_s: finite(r.draft_s) ?? 0, verify_s: finite(r.verify_s) ?? 0, other_s: finite(r.other_s) ?? 0, elapsed_s: finite(r.elapsed_s) ?? 0 };
}

// A run that went on from another one: the output it was given, as text, and where in `prompt_ids` that output begins.
function cleanBranch(b) {
  return { text: text(b.text), base: Number.isInteger(b.base) && b.base >= 0 ? b.base : 0 };
}

function take(trace, data) {
  if (!data || typeof data !== "object") return;
  if (data.run && typeof data.run === "object") trace.run = data.run;
  if (typeof data.source === "string") trace.source = data.source;
  if (typeof data.name === "string") trace.name = data.name;
  if (data.branch && typeof data.branch === "object") trace.branch = cleanBranch(data.branch);
  if (Array.isArray(data.rounds)) trace.rounds = data.rounds.map(cleanRound);
  if (Array.isArray(data.emitted) && Array.isArray(data.drafted)) trace.rounds.push(cleanRound(data, trace.rounds.length));
  if (data.totals && typeof data.totals === "object") {
    trace.totals = data.totals;
    trace.plain = data.plain && Array.isArray(data.plain.elapsed_s) ? cleanPlain(data.plain) : null;
  }
  if (data.plain_progress && typeof data.plain_progress === "object") trace.progress = finite(data.plain_progress.tokens);
}

// The texts only where there is one for each moment.
function cleanPlain(plain) {
  const elapsed_s = plain.elapsed_s.filter((x) => finite(x) !== null), texts = list(plain.texts).map(text);
  return { ...plain, elapsed_s, texts: texts.length === elapsed_s.length ? texts : null };
}

function parse(line) {
  try { return JSON.parse(line); } catch { return null; }
}

// A reader keeps its place: a value that only grew costs only its new lines.
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
        if (first < 0 || parse(whole.slice(0, first)) === null) {   // one object, perhaps indented
          const data = whole ? parse(whole) : null;
          if (data) { take(trace, data); seen = all; return { trace, fresh }; }
        }
      }
      const end = all.lastIndexOf("\n") + 1;
      for (const line of all.slice(seen.length, end).split("\n")) if (line) take(trace, parse(line));
      seen = all.slice(0, end);
      return { trace, fresh };
    },
  };
}

export const isTree = (round) => round.drafted.some((d, i) => d.parent !== i - 1);
export const isGreedy = (trace) => Number(trace.run?.sampling?.temperature ?? NaN) === 0;
