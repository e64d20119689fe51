// A few words above the player for newcomers: one sentence, the rest behind a button, and where to begin. They are open until they have been
// closed once.
import { el, set } from "../page/dom.js";
import { prose } from "../page/glossary.js";

const KEY = "specscope-intro";
// A browser that stores nothing (a private window, a saved page) shows the words open.
function wasClosed() {
  try { return localStorage.getItem(KEY) === "closed"; } catch { return false; }
}
function remember(open) {
  try {
    if (open) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, "closed");
  } catch { /* nothing is stored */ }
}

// words: the player's, in one language. lesson(): opens the lesson; own(): goes to the prompt. Each is left out where there is no such thing.
export function createIntro(words, { lesson = null, own = null } = {}) {
  const w = words.intro;
  const button = (name, act) => el("button", { type: "button", class: "ss-btn ss-wide", "data-act": name, text: w[name], onclick: act });
  const rest = el("div", { hidden: true }, ...[...w.text, w.drawn].map((sentence) => prose(words.glossary, sentence)));
  const expand = () => {
    rest.hidden = !rest.hidden;
    set(more, { "aria-expanded": String(!rest.hidden) });
  };
  const more = el("button", { type: "button", class: "ss-link", "data-act": "more", "aria-expanded": "false", text: w.more, onclick: expand });
  const lead = prose(words.glossary, w.lead);
  lead.append(" ", more);
  return el("details", { class: "ss-panel ss-intro", open: !wasClosed(), ontoggle: (e) => remember(e.currentTarget.open) },
    el("summary", {}, el("h2", { text: w.title })),
    lead,
    rest,
    (lesson || own) && el("div", { class: "ss-sharerow" }, lesson && button("lesson", lesson), own && button("own", own)),
  );
}
