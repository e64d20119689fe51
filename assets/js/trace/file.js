// Traces as files: reading one that a person opens (checked, capped, never trusted), writing one, and the page that holds one. Pure.
import { makeReader } from "./trace.js";

export const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ROUNDS = 5000, MOST_DRAFTED = 512;

// {ndjson} or {error: key of words.share.errors, detail}. The text is whatever was in the file.
export function checkTrace(text, bytes = text.length) {
  if (bytes > MOST_BYTES) return { error: "big" };
  if (!text.trim()) return { error: "empty" };
  let head, rounds, last;
  try {
    const whole = JSON.parse(text);
    if (!whole || typeof whole !== "object" || Array.isArray(whole)) return { error: "kind" };
    ({ rounds } = whole);
    head = whole;
    last = whole;
  } catch {
    const lines = text.split("\n").filter((l) => l.trim()), parsed = [];
    for (const [i, line] of lines.entries()) {
      try { parsed.push(JSON.parse(line)); } catch { if (i < lines.length - 1 || i === 0) return { error: i ? "line" : "json", detail: i + 1 }; }
    }
    head = parsed[0];
    rounds = parsed.slice(1).filter((x) => x && typeof x === "object" && Array.isArray(x.emitted));
    last = parsed.findLast((x) => x && typeof x === "object" && x.totals) ?? {};
  }
  if (!head || typeof head !== "object" || !head.run || typeof head.run !== "object" || Array.isArray(head.run)) return { error: "run" };
  if (head.version !== 1) return { error: "version", detail: String(head.version).slice(0, 20) };
  if (!Array.isArray(rounds) || !rounds.length) return { error: "rounds" };
  if (rounds.length > MOST_ROUNDS) return { error: "many" };
  const bad = rounds.findIndex(
    (r) =>
      !r ||
      typeof r !== "object" ||
      !Array.isArray(r.drafted) ||
      !Array.isArray(r.emitted) ||
      r.drafted.length > MOST_DRAFTED ||
      r.emitted.length > MOST_DRAFTED ||
      ![...r.drafted, ...r.emitted].every((t) => t && typeof t === "object" && typeof t.text === "string") ||
      !(typeof r.elapsed_s === "number" && Number.isFinite(r.elapsed_s)),
  );
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

// The stream text as the one-object file form, every key that came with it kept.
export function toFile(ndjson) {
  const out = { version: 1, run: {}, rounds: [], totals: null, plain: null };
  const take = (x) => {
    if (!x || typeof x !== "object") return;
    if (x.run) { const { source, name, totals, plain, rounds, ...head } = x; Object.assign(out, head); }
    if (Array.isArray(x.rounds)) out.rounds = x.rounds;
    if (Array.isArray(x.emitted) && Array.isArray(x.drafted)) out.rounds.push(x);
    if (x.totals) { out.totals = x.totals; out.plain = x.plain ?? null; }
  };
  try {
    take(JSON.parse(ndjson));
  } catch {
    for (const line of ndjson.split("\n")) {
      try {
        take(JSON.parse(line));
      } catch {
        /* a half-written line */
      }
    }
  }
  return `${JSON.stringify(out)}\n`;
}

// JSON inside HTML: nothing in it can end the script element, open a comment or break a line of script.
export const embed = (value) => JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

const attribute = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// The whole page as text. `script` and `styles` are ours; the trace is not.
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
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

// A file name from whatever a run calls itself.
export const fileName = (trace, ending) =>
  `specscope-${
    String(trace.name ?? trace.run?.method ?? "run")
      .replace(/[^A-Za-z0-9_-]+/g, "-")
      .slice(0, 40) || "run"
  }.${ending}`;
