// The tab "Why nothing is lost": two laws to pull at, dice to throw, the same on a real position, and the questions people ask.
import { el } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { createLaws } from "../distributions/pair.js";
import { createDice } from "./dice.js";
import { categories, normalise } from "../distributions/acceptance.js";
import { createReal } from "./recorded.js";
import { cleanRuns } from "../trace/runs.js";
import { LOSSLESS_EN } from "../words/en/lossless.js";

export const PRESETS = {
  disagree: { p: [0.42, 0.24, 0.18, 0.10, 0.06], q: [0.12, 0.40, 0.10, 0.30, 0.08] },
  agree: { p: [0.42, 0.24, 0.18, 0.10, 0.06], q: [0.40, 0.26, 0.17, 0.11, 0.06] },
  eager: { p: [0.40, 0.27, 0.19, 0.14], q: [0.91, 0.05, 0.03, 0.01] },
  disjoint: { p: [0.50, 0.30, 0.20, 0, 0, 0], q: [0, 0, 0, 0.45, 0.35, 0.20] },
};
export const FEWEST = 3;
export const MOST = 6;

// Pure: one category more (a small one) or fewer (the last, its mass shared out).
export function resize(law, n) {
  const next = law.slice(0, n);
  while (next.length < n) next.push(0.08);
  return normalise(next);
}

export function mountLossless(root, { runs = [], words = LOSSLESS_EN } = {}) {
  let { p, q } = PRESETS.disagree, queued = 0;
  const laws = createLaws(words, (a, b) => {
    p = a;
    q = b;
    mark(null);
    queue();
  });
  const dice = createDice(words);
  const real = createReal(words, cleanRuns(runs));
  const presets = el("div", { class: "ss-presets", role: "group", "aria-label": words.presets.label },
    ...Object.keys(PRESETS).map((name) =>
      el("button", {
        type: "button",
        class: "ss-chip",
        "data-preset": name,
        text: words.presets[name],
        onclick: () => {
          ({ p, q } = PRESETS[name]);
          mark(name);
          queue();
        },
      }),
    ),
  );
  const number = el("output", { class: "ss-count" });
  const step = (sign, by, label) =>
    el("button", {
      type: "button",
      class: "ss-btn ss-step",
      "aria-label": label,
      text: sign,
      onclick: () => {
        const n = Math.min(MOST, Math.max(FEWEST, p.length + by));
        if (n !== p.length) {
          p = resize(p, n);
          q = resize(q, n);
          mark(null);
          queue();
        }
      },
    });
  const fewer = step("−", -1, words.fewer), more = step("+", 1, words.more);
  const mark = (name) => { for (const b of presets.children) b.setAttribute("aria-pressed", String(b.dataset.preset === name)); };
  root.replaceChildren(
    el("div", { class: "ss ss-explain" },
      el("section", { class: "ss-panel ss-playground" },
        el("h2", { text: words.title }),
        prose(words.glossary, words.lead, "ss-lead"),
        el("div", { class: "ss-controlrow" },
          el("span", { class: "ss-label", text: words.presets.label }),
          presets,
          el("span", { class: "ss-counter" }, el("span", { class: "ss-label", text: words.count }), fewer, number, more),
        ),
        el("p", { class: "ss-sub", text: words.editorHow }),
        laws.root,
        el("p", { class: "ss-sub ss-grammar", text: words.sub }),
      ),
      el("section", { class: "ss-panel" }, el("h2", { text: words.dice.title }), el("p", { class: "ss-lead", text: words.dice.lead }), dice.root),
      real.root,
      el("section", { class: "ss-panel ss-questions" },
        ...words.questions.map(([ask, answer]) => el("div", {}, el("h3", { text: ask }), prose(words.glossary, answer))),
      ),
    ),
  );

  const queue = () => { if (!queued) queued = requestAnimationFrame(draw); };
  function draw() {
    queued = 0;
    const cats = categories(p, q), names = words.tokens.slice(0, p.length), id = laws.draw(cats, names);
    number.textContent = String(p.length);
    fewer.disabled = p.length <= FEWEST;
    more.disabled = p.length >= MOST;
    laws.sentence.replaceChildren(
      ...rich(words.glossary, id.overlap > 1 - 1e-12 ? words.noResidual : words.identitySentence(id.overlap, words.identityError(id.error))),
    );
    dice.set(cats, names);
  }
  mark("disagree");
  draw();
  return { refresh: real.refresh, hide() { dice.stop(); real.stop(); } };
}
