// The tab "Methods": one card for each proposer, and several of them side by side on one clock.
import { el } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { createTune } from "./tune.js";
import { createRaceView } from "./race.js";
import { cleanRuns, exampleName, openInWatch } from "../trace/runs.js";
import { METHODS_EN } from "../words/en/methods.js";
import { visible } from "../page/glyphs.js";

function card(words, method, runs, bytes, report) {
  const c = words.cards[method] ?? null, name = words.names[method] ?? visible(method), l = words.labels;
  const tuned = report ? createTune(words, report) : null;
  const facts = c
    ? [
        [l.proposes, c.proposes],
        [l.memory, `${c.memory}${bytes ? ` ${words.size(bytes)}` : ""}`],
        [l.needs, c.needs],
        [l.choose, c.choose],
      ]
    : [];
  const here = runs.length
    ? runs.map((r) =>
        el("li", { "data-slow": r.ratio !== null && r.ratio < 1 ? "yes" : "no" },
          el("b", { text: exampleName(words, r.example) }),
          ` ${words.figure(r)} `,
          el("button", {
            type: "button",
            class: "ss-link",
            text: words.playShort,
            "aria-label": words.play({ ...r, example: exampleName(words, r.example) }),
            onclick: () => openInWatch(r),
          }),
          r.lossless === false && el("span", { class: "ss-lossy", text: ` ${words.lossy}` }),
          words.slower(r) && el("p", { class: "ss-slowwords", text: words.slower(r) }),
        ),
      )
    : [el("li", { class: "ss-sub", text: words.none })];
  return el("article", { class: "ss-method", "data-method": method, "aria-label": name },
    el("h3", {}, name, words.hints[method] ? el("small", { text: words.hints[method] }) : null),
    el("dl", {},
      ...facts.flatMap(([k, v]) => [el("dt", { text: k }), el("dd", {}, ...rich(words.glossary, v))]),
      el("dt", { text: l.here }),
      el("dd", {}, el("ul", { class: "ss-here" }, ...here)),
      ...(tuned ? [el("dt", { text: words.tune.title }), el("dd", {}, tuned)] : []),
      ...(c ? [el("dt", { text: l.paper }), el("dd", { class: "ss-papers" }, ...c.papers.map((p) => el("p", { text: p })))] : []),
    ),
  );
}

// order: the methods in the order of core/methods/catalog.py; one that only a recording names comes behind them.
export function mountMethods(root, { runs = [], order = [], sizes = {}, tuned = {}, words = METHODS_EN } = {}) {
  const known = cleanRuns(runs);
  const names = [...new Set([...order, ...known.map((r) => r.method).filter(Boolean)])];
  const race = createRaceView(words, known);
  root.replaceChildren(
    el("div", { class: "ss ss-explain" },
      race.root,
      el("section", { class: "ss-panel" },
        el("h2", { text: words.title }),
        prose(words.glossary, words.lead, "ss-lead"),
        prose(words.glossary, words.length, "ss-sub"),
        el("div", { class: "ss-methods" },
          ...names.map((m) =>
            card(
              words,
              m,
              known.filter((r) => r.method === m),
              Number.isFinite(sizes?.[m]) ? sizes[m] : 0,
              tuned?.[m] ?? null,
            ),
          ),
        ),
      ),
    ),
  );
  return { refresh: race.refresh, hide: race.stop };
}
