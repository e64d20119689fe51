// Traces as files: one that a person opens (checked, capped, never trusted), one to save, and the page that holds one. Pure functions.
import { makeReader, parseJson } from "./trace.js";

export const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ROUNDS = 5000, MOST_DRAFTED = 512;

const isObject = (x) => Boolean(x) && typeof x === "object";
const isRecord = (x) => isObject(x) && !Array.isArray(x);

// The text of a file, in either form -> {head, rounds, last: what holds the totals} or {error, detail}.
function parseEither(text) {
  let whole;
  try { whole = JSON.parse(text); } catch { return parseLines(text.split("\n").filter((line) => line.trim())); }
  return isRecord(whole) ? { head: whole, rounds: whole.rounds, last: whole } : { error: "kind" };
}

// A stream whose last line may be half-written.
function parseLines(lines) {
  const parsed = [];
  for (const [i, line] of lines.entries()) {
    try {
      parsed.push(JSON.parse(line));
    } catch {
      if (i === 0) return { error: "json", detail: 1 };
      if (i < lines.length - 1) return { error: "line", detail: i + 1 };
    }
  }
  return {
    head: parsed[0],
    rounds: parsed.slice(1).filter((x) => isObject(x) && Array.isArray(x.emitted)),
    last: parsed.findLast((x) => isObject(x) && x.totals) ?? {},
  };
}

function isRound(r) {
  if (!isObject(r) || !Array.isArray(r.drafted) || !Array.isArray(r.emitted)) return false;
  if (r.drafted.length > MOST_DRAFTED || r.emitted.length > MOST_DRAFTED) return false;
  return [...r.drafted, ...r.emitted].every((t) => isObject(t) && typeof t.text === "string") && Number.isFinite(r.elapsed_s);
}

// What a person opened -> {ndjson}, or {error: a key of words.share.errors, detail}.
export function checkTrace(text, bytes = text.length) {
  if (bytes > MOST_BYTES) return { error: "big" };
  if (!text.trim()) return { error: "empty" };
  const { head, rounds, last, ...wrong } = parseEither(text);
  if (wrong.error) return wrong;
  if (!isObject(head) || !isRecord(head.run)) return { error: "run" };
  if (head.version !== 1) return { error: "version", detail: String(head.version).slice(0, 20) };
  if (!Array.isArray(rounds) || !rounds.length) return { error: "rounds" };
  if (rounds.length > MOST_ROUNDS) return { error: "many" };
  const bad = rounds.findIndex((r) => !isRound(r));
  if (bad >= 0) return { error: "round", detail: bad };
  const lines = [
    { version: 1, run: head.run, source: "imported", ...(head.branch ? { branch: head.branch } : {}) },
    ...rounds,
    ...(last.totals ? [{ totals: last.totals, plain: last.plain ?? null }] : []),
  ];
  const ndjson = lines.map((l) => JSON.stringify(l)).join("\n") + "\n";
  if (!makeReader().read(ndjson).trace.rounds.length) return { error: "rounds" };
  return { ndjson };
}

// The text of a stream as the text of a file: one object, with every key that came with it.
export function toFile(ndjson) {
  const out = { version: 1, run: {}, rounds: [], totals: null, plain: null };
  const take = (x) => {
    if (!x || typeof x !== "object") return;
    if (x.run) {
      const { source, name, totals, plain, rounds, ...head } = x;
      Object.assign(out, head);
    }
    if (Array.isArray(x.rounds)) out.rounds = x.rounds;
    if (Array.isArray(x.emitted) && Array.isArray(x.drafted)) out.rounds.push(x);
    if (x.totals) { out.totals = x.totals; out.plain = x.plain ?? null; }
  };
  const whole = parseJson(ndjson);
  for (const x of whole === null ? ndjson.split("\n").map(parseJson) : [whole]) take(x);
  return `${JSON.stringify(out)}\n`;
}

// JSON inside HTML: nothing in it can end the script element, open a comment or break a line of script.
export const embed = (value) => JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

const attribute = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

// The page to save, as text. `script` and `styles` are ours; the trace is not.
export function htmlPage({ script, styles, ndjson, lang, place, title, dark }) {
  return `<!doctype html>
<html lang="${attribute(lang)}"${dark === null ? "" : ` class="${dark ? "dark" : "light"}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${attribute(title)}</title>
<style>${styles}</style>
</head>
<body class="ss-offline">
<main id="player"></main>
<script type="application/json" id="ss-trace">${embed({ ndjson, lang, place })}<\/script>
<script id="ss-bundle">${script}<\/script>
<script>window.Specscope.offline();<\/script>
</body>
</html>
`;
}

// A file name that holds the run's name, or its method.
export function fileName(trace, ending) {
  const name = String(trace.name ?? trace.run?.method ?? "run").replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40);
  return `specscope-${name || "run"}.${ending}`;
}
