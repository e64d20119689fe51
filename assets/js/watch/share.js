// The row under the player: copy a link or a command, open and save traces, save the whole page, present.
import { commandFor } from "../trace/command.js";
import { el, say } from "../page/dom.js";
import { oneLine, short } from "../page/glyphs.js";
import { checkTrace, fileName, htmlPage, MOST_BYTES, toFile } from "../trace/file.js";

async function copy(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed or not there: the old way */ }
  const box = el("textarea", { style: { position: "fixed", opacity: "0" }, "aria-hidden": "true" });
  box.value = text;
  document.body.append(box);
  box.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { done = false; }
  box.remove();
  return done;
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type })), a = el("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// get: () => {trace, ndjson, place}. link: () => address or null (offline). open(ndjson). page: {script, styles} or null.
export function createShare(words, { get, open, link = null, present = null }) {
  const w = words.share;
  const note = el("p", { class: "ss-note", role: "status" });
  const fallback = el("textarea", { class: "ss-copybox", readonly: true, rows: "2", hidden: true, "aria-label": w.copyFailed });
  const file = el("input", { type: "file", accept: ".json,.ndjson,application/json", class: "ss-vh", tabindex: "-1", "aria-hidden": "true" });
  const button = (name, act) => el("button", { type: "button", class: "ss-btn ss-wide", "data-act": name, text: w[name], onclick: act });
  const tell = (text) => say(note, text);
  async function give(text, sentence) {
    fallback.hidden = true;
    if (await copy(text)) return tell(sentence);
    tell(w.copyFailed);
    fallback.value = text;
    fallback.hidden = false;
    fallback.select();
  }
  file.addEventListener("change", async () => {
    const chosen = file.files[0];
    file.value = "";
    if (chosen) await take(chosen);
  });
  async function take(chosen) {
    if (chosen.size > MOST_BYTES) return tell(w.errors.big);
    let text;
    try { text = await chosen.text(); } catch { return tell(w.errors.read); }
    const got = checkTrace(text, chosen.size);
    if (got.error) { const e = w.errors[got.error]; return tell(typeof e === "function" ? e(got.detail) : e); }
    open(got.ndjson);
    tell(w.opened(short(chosen.name, 60)));
  }
  function savePage() {
    const { trace, ndjson, place } = get();
    const script = document.getElementById("ss-bundle")?.textContent ?? "";
    const styles = document.getElementById("ss-styles")?.textContent ?? document.querySelector("style")?.textContent ?? "";
    const dark = document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");
    download(
      fileName(trace, "html"),
      "text/html",
      htmlPage({ script, styles, ndjson, lang: words.lang, place, title: `Specscope: ${oneLine(String(trace.run?.prompt ?? ""), 60)}`, dark }),
    );
    tell(w.saved);
  }
  const buttons = [
    link &&
      button("link", () => {
        if (get().trace.name) give(link(), w.linkCopied);
        else tell(w.linkNone);
      }),
    button("command", () => {
      const c = commandFor(get().trace);
      if (c === null) tell(w.commandNone);
      else give(c, w.commandCopied);
    }),
    button("open", () => file.click()),
    button("save", () => {
      const { trace, ndjson } = get();
      download(fileName(trace, "json"), "application/json", toFile(ndjson));
      tell(w.saved);
    }),
    button("html", savePage),
    present && button("present", present),
  ];
  const root = el("section", { class: "ss-share", "aria-label": w.title },
    el("div", { class: "ss-sharerow" }, ...buttons.filter(Boolean), file),
    note,
    fallback,
  );
  root.addEventListener("dragover", (e) => e.preventDefault());
  root.addEventListener("drop", (e) => { e.preventDefault(); if (e.dataTransfer?.files[0]) take(e.dataTransfer.files[0]); });
  return { root, take };
}
