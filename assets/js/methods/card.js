// The card of a method: what it proposes and needs, its recordings here, what was tuned, its papers.
import { el } from "../page/dom.js";
import { rich } from "../page/glossary.js";
import { visible } from "../page/glyphs.js";
import { exampleName, openInWatch } from "../trace/runs.js";
import { createTune } from "./tune.js";

// A recording: its figures, and a way to play it.
function recording(words, run) {
  const example = exampleName(words, run.example), slower = words.slower(run), open = () => openInWatch(run);
  const play = { type: "button", class: "ss-link", text: words.playShort, "aria-label": words.play({ ...run, example }), onclick: open };
  return el("li", { "data-slow": run.ratio !== null && run.ratio < 1 ? "yes" : "no" },
    el("b", { text: example }),
    ` ${words.figure(run)} `,
    el("button", play),
    run.lossless === false && el("span", { class: "ss-lossy", text: ` ${words.lossy}` }),
    slower && el("p", { class: "ss-slowwords", text: slower }),
  );
}

// runs: the recordings with this method. bytes: the size of its weights, 0 where unknown. report: of `specscope tune`, or null.
export function methodCard(words, method, runs, bytes, report) {
  const c = words.cards[method] ?? null, name = words.names[method] ?? visible(method), l = words.labels;
  const tuned = report ? createTune(words, report) : null;
  const entry = (term, ...content) => [el("dt", { text: term }), el("dd", {}, ...content)];
  const memory = c && `${c.memory}${bytes ? ` ${words.size(bytes)}` : ""}`;
  const facts = c ? [[l.proposes, c.proposes], [l.memory, memory], [l.needs, c.needs], [l.choose, c.choose]] : [];
  const recordings = runs.length ? runs.map((run) => recording(words, run)) : [el("li", { class: "ss-sub", text: words.none })];
  const papers = c ? [el("dt", { text: l.paper }), el("dd", { class: "ss-papers" }, ...c.papers.map((text) => el("p", { text })))] : [];
  return el("article", { class: "ss-method", "data-method": method, "aria-label": name },
    el("h3", {}, name, words.hints[method] ? el("small", { text: words.hints[method] }) : null),
    el("dl", {},
      ...facts.flatMap(([term, sentence]) => entry(term, ...rich(words.glossary, sentence))),
      ...entry(l.here, el("ul", { class: "ss-here" }, ...recordings)),
      ...(tuned ? entry(words.tune.title, tuned) : []),
      ...papers,
    ),
  );
}
