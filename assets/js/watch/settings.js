// A method's own settings as small fields, as the engine describes them. A setting that is left as it is is not sent.
import { el } from "../page/dom.js";

const KINDS = ["int", "float", "str", "bool"];

// Pure: the descriptions of the settings that have the right shape.
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

// Pure: the value of a field; undefined where it is empty or says the default.
export function given(d, raw) {
  if (d.kind === "bool") return raw === Boolean(d.default) ? undefined : raw;
  if (raw === "" || String(raw) === String(d.default ?? "")) return undefined;
  return d.kind === "int" || d.kind === "float" ? Number(raw) : raw;
}

// change(values): the reader set one; values holds those that differ from their defaults.
export function createSettings(root, words, change) {
  let details = [], values = {};
  const put = (d, raw) => {
    const x = given(d, raw);
    if (x === undefined) delete values[d.name];
    else values[d.name] = x;
    change({ ...values });
  };
  function inputOf(d, attrs, start) {
    if (d.kind === "bool") {
      const box = el("input", { ...attrs, type: "checkbox", onchange: () => put(d, box.checked) });
      box.checked = Boolean(start);
      return box;
    }
    if (d.choices.length) {
      const options = d.choices.map((c) => el("option", { value: c, text: c }));
      const list = el("select", { ...attrs, onchange: () => put(d, list.value) }, ...options);
      list.value = start;
      return list;
    }
    const limits =
      d.kind === "str"
        ? { type: "text", maxlength: 32 }
        : { type: "number", min: d.low, max: d.high === null ? null : Math.min(64, d.high), step: d.kind === "float" ? "any" : 1 };
    const line = el("input", { ...attrs, ...limits, oninput: () => put(d, line.value) });
    line.value = start;
    return line;
  }
  function field(d) {
    const [name, help] = words.settings[d.name] ?? [d.name.replaceAll("_", " "), d.help];
    const id = `ss-set-${d.name}`;
    const start = values[d.name] ?? d.default ?? "";
    const attrs = { id, class: "ss-setting-input", "aria-describedby": `${id}-help`, "data-setting": d.name };
    const input = inputOf(d, attrs, start);
    return el("div", { class: "ss-setting" }, el("label", { for: id, text: name }), input, el("small", { id: `${id}-help`, text: help }));
  }
  function draw() {
    const box = details.length ? el("details", { class: "ss-settings" }, el("summary", { text: words.settingsTitle }), ...details.map(field)) : "";
    root.replaceChildren(el("div", { class: "ss", lang: words.lang }, box));
  }
  // set: the values that differ from their defaults.
  function show(next, set = {}) {
    details = cleanDetails(next);
    values = { ...set };
    draw();
  }
  function say(next) {
    words = next;
    draw();
  }
  return { show, say };
}
