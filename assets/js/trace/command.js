// The command line that makes a run again, quoted so that any text is safe to paste into a POSIX shell (bash, zsh). Pure.

// Plain single quotes where everything is printable; else $'...' with every hidden character as an escape, so that nothing pasted
// can act on a terminal or hide what it is.
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

// A text that a command line cannot carry as it is: NUL, half characters, and "-", which means stdin.
const carries = (text) =>
  typeof text === "string" &&
  text.trim() !== "" &&
  text !== "-" &&
  !text.includes("\0") &&
  !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
const number = (x) => (typeof x === "number" && Number.isFinite(x) ? String(x) : null);

// One string, or null where neither prompt nor ids are known.
export function commandFor(trace) {
  const r = trace.run ?? {}, s = r.sampling ?? {}, out = ["specscope", "run"];
  const add = (flag, value) => { if (value !== null && value !== undefined) out.push(`${flag}=${quote(String(value))}`); };
  const ids = Array.isArray(r.prompt_ids) && r.prompt_ids.length && r.prompt_ids.every((x) => Number.isInteger(x) && x >= 0) ? r.prompt_ids : null;
  if (carries(r.prompt) && !trace.branch) add("--prompt", r.prompt);
  else if (ids) add("--prompt-ids", ids.join(","));
  else return null;
  if (typeof r.target === "string" && r.target && !/^SmolLM2-135M-Instruct\b/.test(r.target)) {
    add("--target", r.target);
    if (typeof r.draft === "string" && r.draft) add("--draft", r.draft);
  }
  if (typeof r.method === "string" && /^[a-z0-9+_-]{1,40}$/i.test(r.method)) add("--method", r.method);
  const settings = r.settings && typeof r.settings === "object" ? r.settings : {};
  if (r.draft_len === "auto" || r.draft_len === "heuristic") add("--draft-len", r.draft_len);
  else if (Number.isInteger(r.draft_len) && r.draft_len > 0 && !/^\d/.test(String(settings.tree ?? ""))) add("--draft-len", r.draft_len);
  for (const [name, value] of Object.entries(settings)) {
    if (!/^[a-z][a-z_]{0,40}$/.test(name) || value === null || value === "" || value === false) continue;
    const flag = `--${name.replaceAll("_", "-")}`;
    if (value === true) out.push(flag);
    else if (typeof value === "string" || number(value) !== null) add(flag, value);
  }
  if (r.verify === "block") add("--verify", "block");
  if (r.verify === "typical") out.push("--typical");
  for (const [key, flag, off] of [
    ["temperature", "--temperature", 0],
    ["top_k", "--top-k", 0],
    ["top_p", "--top-p", 1],
    ["min_p", "--min-p", 0],
    ["repetition_penalty", "--repetition-penalty", 1],
  ])
    if (number(s[key]) !== null && s[key] !== off) add(flag, number(s[key]));
  if (Number.isSafeInteger(r.seed) && r.seed >= 0) add("--seed", r.seed);
  const most = Number.isInteger(r.max_new_tokens) && r.max_new_tokens >= 0 ? r.max_new_tokens : null;
  if (most !== null) add("--max-new-tokens", most);
  for (const stop of Array.isArray(r.stop) ? r.stop.slice(0, 20) : []) if (carries(stop) || /^\s+$/.test(stop)) add("--stop", stop);
  if (r.ignore_eos === true) out.push("--ignore-eos");
  if (trace.plain) out.push("--baseline");
  return out.join(" ");
}
