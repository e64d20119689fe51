// The tab "Methods": recorded methods side by side on one clock, and a card for each method.
import { el } from "../page/dom.js";
import { prose } from "../page/glossary.js";
import { cleanRuns } from "../trace/runs.js";
import { METHODS_EN } from "../words/en/methods.js";
import { methodCard } from "./card.js";
import { createRace } from "./race.js";

// order: the methods in the order of core/methods/catalog.py; one that only a recording names comes behind them.
// sizes: bytes of each method's weights. tuned: each method's report of `specscope tune`.
export function mountMethods(root, { runs = [], order = [], sizes = {}, tuned = {}, words = METHODS_EN } = {}) {
  const known = cleanRuns(runs), race = createRace(words, known);
  const methods = [...new Set([...order, ...known.map((r) => r.method).filter(Boolean)])];
  const card = (method) => {
    const bytes = Number.isFinite(sizes?.[method]) ? sizes[method] : 0;
    return methodCard(words, method, known.filter((r) => r.method === method), bytes, tuned?.[method] ?? null);
  };
  const cards = el("section", { class: "ss-panel" },
    el("h2", { text: words.title }),
    prose(words.glossary, words.lead, "ss-lead"),
    prose(words.glossary, words.length, "ss-sub"),
    el("div", { class: "ss-methods" }, ...methods.map(card)),
  );
  root.replaceChildren(el("div", { class: "ss ss-explain" }, race.root, cards));
  return { refresh: () => race.refresh(), hide: () => race.stop() };
}
