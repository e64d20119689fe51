// A few words above the player for whoever comes first: one sentence, the rest behind a button, where to begin. Open until closed once.
import { el, set } from "../page/dom.js";
import { prose } from "../page/glossary.js";

const KEY = "specscope-intro";
// Where the browser keeps nothing (private windows, saved pages), the words are simply open.
function kept() { try { return localStorage.getItem(KEY) === "closed"; } catch { return false; } }
function keep(open) { try { if (open) localStorage.removeItem(KEY); else localStorage.setItem(KEY, "closed"); } catch { /* nothing is kept */ } }

// words: one language's player table. lesson(): opens the lesson. own(): goes to the prompt; each only where there is such a thing.
export function createIntro(words, { lesson = null, own = null } = {}) {
  const w = words.intro;
  const button = (name, act) => el("button", { type: "button", class: "ss-btn ss-wide", "data-act": name, text: w[name], onclick: act });
  const rest = el("div", { hidden: true }, ...[...w.text, w.drawn].map((sentence) => prose(words.glossary, sentence)));
  const more = el("button", {
    type: "button",
    class: "ss-link",
    "data-act": "more",
    "aria-expanded": "false",
    text: w.more,
    onclick: () => {
      rest.hidden = !rest.hidden;
      set(more, { "aria-expanded": String(!rest.hidden) });
    },
  });
  const lead = prose(words.glossary, w.lead);
  lead.append(" ", more);
  return el("details", { class: "ss-panel ss-intro", open: !kept(), ontoggle: (e) => keep(e.currentTarget.open) },
    el("summary", {}, el("h2", { text: w.title })),
    lead,
    rest,
    (lesson || own) && el("div", { class: "ss-sharerow" }, lesson && button("lesson", lesson), own && button("own", own)),
  );
}
