// A few words above the player for whoever comes first: what is to be seen, the terms it takes, where to begin. Open until closed once.
import { el } from "./dom.js";
import { prose } from "./glossary.js";

const KEY = "specscope-intro";
// Where the browser keeps nothing (private windows, saved pages), the words are simply open.
function kept() { try { return localStorage.getItem(KEY) === "closed"; } catch { return false; } }
function keep(open) { try { if (open) localStorage.removeItem(KEY); else localStorage.setItem(KEY, "closed"); } catch { /* nothing is kept */ } }

// words: one language's player table. lesson(): opens the lesson. own(): goes to the prompt; each only where there is such a thing.
export function createIntro(words, { lesson = null, own = null } = {}) {
  const w = words.intro, button = (name, act) => el("button", { type: "button", class: "ss-btn ss-wide", "data-act": name, text: w[name], onclick: act });
  return el("details", { class: "ss-panel ss-intro", open: !kept(), ontoggle: (e) => keep(e.currentTarget.open) }, el("summary", {}, el("h2", { text: w.title })),
    ...w.text.map((sentence) => prose(words.glossary, sentence)), (lesson || own) && el("div", { class: "ss-sharerow" }, lesson && button("lesson", lesson), own && button("own", own)));
}
