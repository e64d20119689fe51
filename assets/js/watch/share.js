// The row under the player: copy a link or a command, open and save traces, save the whole page, present.
import { el, say } from "../page/dom.js";
import { oneLine, short } from "../page/glyphs.js";
import { commandFor } from "../trace/command.js";
import { checkTrace, fileName, htmlPage, MOST_BYTES, toFile } from "../trace/file.js";

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);   // not allowed, or not there
  }
}

function copyByCommand(text) {
  const box = el("textarea", { style: { position: "fixed", opacity: "0" }, "aria-hidden": "true" });
  box.value = text;
  document.body.append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    box.remove();
  }
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type })), a = el("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// This page as a file that holds one trace.
function pageText({ trace, ndjson, place }, lang) {
  const script = document.getElementById("ss-bundle")?.textContent ?? "";
  const styles = document.getElementById("ss-styles")?.textContent ?? document.querySelector("style")?.textContent ?? "";
  const dark = document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");
  const title = `Specscope: ${oneLine(String(trace.run?.prompt ?? ""), 60)}`;
  return htmlPage({ script, styles, ndjson, lang, place, title, dark });
}

// Gives a text to the reader: onto the clipboard, and where that is not allowed, into a box to copy from. tell(sentence): what has happened.
function createGiver(w, tell) {
  const box = el("textarea", { class: "ss-copybox", readonly: true, rows: "2", hidden: true, "aria-label": w.copyFailed });
  async function give(text, sentence) {
    box.hidden = true;
    if (await copy(text)) {
      tell(sentence);
      return;
    }
    tell(w.copyFailed);
    box.value = text;
    box.hidden = false;
    box.select();
  }
  return { box, give };
}

// The file to open: its hidden input, and take(chosen file), which opens it or tells why not. open(ndjson): a file was opened.
function createOpener(w, tell, open) {
  const input = el("input", { type: "file", accept: ".json,.ndjson,application/json", class: "ss-vh", tabindex: "-1", "aria-hidden": "true" });
  async function take(chosen) {
    if (chosen.size > MOST_BYTES) return tell(w.errors.big);
    let text;
    try { text = await chosen.text(); } catch { return tell(w.errors.read); }
    const got = checkTrace(text, chosen.size), wrong = w.errors[got.error];
    if (got.error) return tell(typeof wrong === "function" ? wrong(got.detail) : wrong);
    open(got.ndjson);
    return tell(w.opened(short(chosen.name, 60)));
  }
  input.addEventListener("change", async () => {
    const chosen = input.files[0];
    input.value = "";
    if (chosen) await take(chosen);
  });
  return { input, take };
}

// What the buttons do with the run on screen: copy its address or its command, save it as a trace or as a page.
function createActs(words, { get, link, give, tell }) {
  const w = words.share;
  return {
    copyLink() {
      if (get().trace.name) give(link(), w.linkCopied);
      else tell(w.linkNone);
    },
    copyCommand() {
      const command = commandFor(get().trace);
      if (command === null) tell(w.commandNone);
      else give(command, w.commandCopied);
    },
    saveTrace() {
      const { trace, ndjson } = get();
      download(fileName(trace, "json"), "application/json", toFile(ndjson));
      tell(w.saved);
    },
    savePage() {
      const now = get();
      download(fileName(now.trace, "html"), "text/html", pageText(now, words.lang));
      tell(w.saved);
    },
  };
}

// get() -> {trace, ndjson, place: of the reader}. open(ndjson): a file was opened. link() -> the address to share, null in a saved page.
// present(): begins the presenter's view.
export function createShare(words, { get, open, link = null, present = null }) {
  const w = words.share, note = el("p", { class: "ss-note", role: "status" }), tell = (text) => say(note, text);
  const { box, give } = createGiver(w, tell), { input, take } = createOpener(w, tell, open), act = createActs(words, { get, link, give, tell });
  const button = (name, onclick) => el("button", { type: "button", class: "ss-btn ss-wide", "data-act": name, text: w[name], onclick });
  const root = el("section", { class: "ss-share", "aria-label": w.title },
    el("div", { class: "ss-sharerow" },
      link && button("link", act.copyLink),
      button("command", act.copyCommand),
      button("open", () => input.click()),
      button("save", act.saveTrace),
      button("html", act.savePage),
      present && button("present", present),
      input,
    ),
    note,
    box,
  );
  root.addEventListener("dragover", (e) => e.preventDefault());
  root.addEventListener("drop", (e) => {
    e.preventDefault();
    if (e.dataTransfer?.files[0]) take(e.dataTransfer.files[0]);
  });
  return { root };
}
