// A method's own settings as small fields, as the engine describes them. What is left alone is not sent.
import { el } from "../page/dom.js";

const KINDS = ["int", "float", "str", "bool"];

// Pure: only what has the right shape. `details` comes from our own server, and still.
export function cleanDetails(details) {
  return (Array.isArray(details) ? details : [])
    .filter((d) => d && typeof d.name === "string" && /^[a-z][a-z0-9_]{0,40}$/.test(d.name) && KINDS.includes(d.kind))
    .map((d) => ({
      name: d.name,
      kind: d.kind,
      default: d.default ?? null,
      help: String(d.help ?? ""),
      low: Number.isFinite(d.low) ? d.low : null,
      high: Number.isFinite(d.high) ? d.high : null,
      choices: Array.isArray(d.choices) ? d.choices.filter((c) => typeof c === "string").slice(0, 20) : [],
    }));
}

// Pure: what a field's text means: undefined where it says what is the default anyway or nothing at all.
export function given(d, raw) {
  if (d.kind === "bool") return raw === Boolean(d.default) ? undefined : raw;
  if (raw === "" || String(raw) === String(d.default ?? "")) return undefined;
  return d.kind === "int" || d.kind === "float" ? Number(raw) : raw;
}

export function createSettings(root, words, change) {
  let details = [], values = {};
  const put = (d, raw) => {
    const x = given(d, raw);
    if (x === undefined) delete values[d.name]; else values[d.name] = x;
    change({ ...values });
  };
  function field(d) {
    const [name, help] = words.settings[d.name] ?? [d.name.replaceAll("_", " "), d.help];
    const id = `ss-set-${d.name}`;
    const start = values[d.name] ?? d.default ?? "";
    const attrs = { id, class: "ss-setting-input", "aria-describedby": `${id}-help`, "data-setting": d.name };
    let input;
    if (d.kind === "bool") {
      input = el("input", { ...attrs, type: "checkbox", onchange: () => put(d, input.checked) });
      input.checked = Boolean(start);
    } else if (d.choices.length) {
      input = el("select", { ...attrs, onchange: () => put(d, input.value) }, ...d.choices.map((c) => el("option", { value: c, text: c })));
      input.value = start;
    } else {
      input = el("input", {
        ...attrs,
        type: d.kind === "str" ? "text" : "number",
        maxlength: d.kind === "str" ? 32 : null,
        min: d.low,
        max: d.high === null ? null : Math.min(64, d.high),
        step: d.kind === "float" ? "any" : 1,
        oninput: () => put(d, input.value),
      });
      input.value = start;
    }
    return el("div", { class: "ss-setting" }, el("label", { for: id, text: name }), input, el("small", { id: `${id}-help`, text: help }));
  }
  function draw() {
    const box = details.length ? el("details", { class: "ss-settings" }, el("summary", { text: words.settingsTitle }), ...details.map(field)) : "";
    root.replaceChildren(el("div", { class: "ss", lang: words.lang }, box));
  }
  return { show(next, kept = {}) { details = cleanDetails(next); values = { ...kept }; draw(); }, say(next) { words = next; draw(); } };
}
