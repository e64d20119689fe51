// The command line that repeats a run, quoted so that any text is safe to paste into a shell (bash, zsh). Pure functions.
import { isCoupled } from "./trace.js";

// A printable text is put into single quotes. Any other becomes $'...' with its hidden characters escaped, so that what is pasted can neither
// act on a terminal nor look like something else.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/;
const SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function quote(text) {
  if (SAFE.test(text)) return text;
  const chars = Array.from(text);
  if (!chars.some((c) => c.length === 1 && HIDDEN.test(c))) return `'${text.replaceAll("'", "'\\''")}'`;
  const escape = (c) => {
    if (c === "'" || c === "\\") return `\\${c}`;
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    if (c.length > 1 || !HIDDEN.test(c)) return c;
    const code = c.codePointAt(0);
    return code < 128 ? `\\${code.toString(8).padStart(3, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  };
  return `$'${chars.map(escape).join("")}'`;
}

// Whether a command line can carry a text: not NUL, not half a surrogate pair, and not "-", which means stdin.
const carries = (text) =>
  typeof text === "string" &&
  text.trim() !== "" &&
  text !== "-" &&
  !text.includes("\0") &&
  !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
const number = (x) => (typeof x === "number" && Number.isFinite(x) ? String(x) : null);

const option = (flag, value) => `${flag}=${quote(String(value))}`;
const named = (text) => typeof text === "string" && text !== "";

// Each of these gives a list of options for a run's record. What is not of the right kind is left out.
function promptOptions(run, branched) {
  const ids = Array.isArray(run.prompt_ids) && run.prompt_ids.length && run.prompt_ids.every((x) => Number.isInteger(x) && x >= 0);
  if (carries(run.prompt) && !branched) return [option("--prompt", run.prompt)];
  return ids ? [option("--prompt-ids", run.prompt_ids.join(","))] : null;
}

function modelOptions(run) {
  const out = [];
  if (named(run.target) && !/^SmolLM2-135M-Instruct\b/.test(run.target)) {
    out.push(option("--target", run.target));
    if (named(run.draft)) out.push(option("--draft", run.draft));
  }
  if (typeof run.method === "string" && /^[a-z0-9+_-]{1,40}$/i.test(run.method)) out.push(option("--method", run.method));
  return out;
}

// A tree given by its shape ("3x2x1") excludes a draft length.
function lengthOptions({ draft_len }, settings) {
  if (draft_len === "auto" || draft_len === "heuristic") return [option("--draft-len", draft_len)];
  const counted = Number.isInteger(draft_len) && draft_len > 0 && !/^\d/.test(String(settings.tree ?? ""));
  return counted ? [option("--draft-len", draft_len)] : [];
}

function settingOptions(settings) {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (!/^[a-z][a-z_]{0,40}$/.test(name) || value === null || value === "" || value === false) return [];
    const flag = `--${name.replaceAll("_", "-")}`;
    if (value === true) return [flag];
    return typeof value === "string" || number(value) !== null ? [option(flag, value)] : [];
  });
}

const OFF = { temperature: 0, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: 1 };

function samplingOptions(run) {
  const s = run.sampling ?? {}, set = Object.keys(OFF).filter((key) => number(s[key]) !== null && s[key] !== OFF[key]);
  const seed = Number.isSafeInteger(run.seed) && run.seed >= 0 ? [option("--seed", run.seed)] : [];
  return [...set.map((key) => option(`--${key.replaceAll("_", "-")}`, number(s[key]))), ...seed];
}

function grammarOptions(grammar) {
  const { kind, value } = grammar ?? {};
  if (kind === "regex" && carries(value)) return [option("--regex", value)];
  if (kind === "json_schema" && value && typeof value === "object") return [option("--json-schema", JSON.stringify(value))];
  const choices = kind === "choice" && Array.isArray(value) ? value.filter(carries) : [];
  if (choices.length === 1 && !choices[0].includes(",")) return [option("--choice", choices[0])];
  return choices.map((x) => option("--choice", x));
}

function endOptions(run) {
  const out = [...grammarOptions(run.grammar)];
  if (Number.isInteger(run.max_new_tokens) && run.max_new_tokens >= 0) out.push(option("--max-new-tokens", run.max_new_tokens));
  const stops = (Array.isArray(run.stop) ? run.stop.slice(0, 20) : []).filter((stop) => carries(stop) || /^\s+$/.test(stop));
  return [...out, ...stops.map((stop) => option("--stop", stop)), ...(run.ignore_eos === true ? ["--ignore-eos"] : [])];
}

const VERIFY = { block: ["--verify=block"], coupled: ["--verify=coupled"], typical: ["--typical"] };

// One string, or null where neither prompt nor ids are known, or no command line makes the run.
export function commandFor(trace) {
  const run = trace.run ?? {}, prompt = promptOptions(run, trace.branch);
  const settings = run.settings && typeof run.settings === "object" ? run.settings : {};
  if (!prompt || (trace.branch && isCoupled(trace))) return null;   // with ids as its prompt, a branch would begin with other dice
  return [
    "specscope run",
    ...prompt,
    ...modelOptions(run),
    ...lengthOptions(run, settings),
    ...settingOptions(settings),
    ...(Object.hasOwn(VERIFY, run.verify) ? VERIFY[run.verify] : []),
    ...samplingOptions(run),
    ...endOptions(run),
    ...(trace.plain ? ["--baseline"] : []),
  ].join(" ");
}
