// The tab "Why nothing is lost": two distributions to pull at, dice to throw, the same at a recorded position, coupled runs side by side,
// and the questions people ask.
import { categories, normalise } from "../distributions/acceptance.js";
import { createPair } from "../distributions/pair.js";
import { el } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { cleanRuns } from "../trace/runs.js";
import { LOSSLESS_EN } from "../words/en/lossless.js";
import { createDice } from "./dice.js";
import { createRecorded } from "./recorded.js";
import { createSameDice } from "./same_dice.js";

export const PRESETS = {
  disagree: { p: [0.42, 0.24, 0.18, 0.10, 0.06], q: [0.12, 0.40, 0.10, 0.30, 0.08] },
  agree: { p: [0.42, 0.24, 0.18, 0.10, 0.06], q: [0.40, 0.26, 0.17, 0.11, 0.06] },
  eager: { p: [0.40, 0.27, 0.19, 0.14], q: [0.91, 0.05, 0.03, 0.01] },
  disjoint: { p: [0.50, 0.30, 0.20, 0, 0, 0], q: [0, 0, 0, 0.45, 0.35, 0.20] },
};
const FEWEST = 3;
const MOST = 6;

// Pure: a distribution over n tokens, made from one over more or fewer: a new token is a small one, a removed one's part is shared out.
export function resize(probs, n) {
  const next = probs.slice(0, n);
  while (next.length < n) next.push(0.08);
  return normalise(next);
}

// The buttons of the presets. pick(name): one was pressed. mark(name): the pressed one, null for none.
function createPresets(words, pick) {
  const button = (name) =>
    el("button", { type: "button", class: "ss-chip", "data-preset": name, text: words.presets[name], onclick: () => pick(name) });
  const root = el("div", { class: "ss-presets", role: "group", "aria-label": words.presets.label }, ...Object.keys(PRESETS).map(button));
  const mark = (name) => { for (const b of root.children) b.setAttribute("aria-pressed", String(b.dataset.preset === name)); };
  return { root, mark };
}

// One token more or one fewer. change(by): a button was pressed.
function createCounter(words, change) {
  const step = (sign, by, label) =>
    el("button", { type: "button", class: "ss-btn ss-step", "aria-label": label, text: sign, onclick: () => change(by) });
  const fewer = step("−", -1, words.fewer), more = step("+", 1, words.more), number = el("output", { class: "ss-count" });
  const root = el("span", { class: "ss-counter" }, el("span", { class: "ss-label", text: words.count }), fewer, number, more);
  function draw(n) {
    number.textContent = String(n);
    fewer.disabled = n <= FEWEST;
    more.disabled = n >= MOST;
  }
  return { root, draw };
}

export function mountLossless(root, { runs = [], words = LOSSLESS_EN } = {}) {
  let { p, q } = PRESETS.disagree, queued = 0;
  function set(next, preset = null) {
    ({ p, q } = next);
    presets.mark(preset);
    if (!queued) queued = requestAnimationFrame(draw);
  }
  const pair = createPair(words, (nextP, nextQ) => set({ p: nextP, q: nextQ }));
  const dice = createDice(words), recorded = createRecorded(words, cleanRuns(runs)), same = createSameDice(words, cleanRuns(runs));
  const presets = createPresets(words, (name) => set(PRESETS[name], name));
  const counter = createCounter(words, (by) => {
    const n = Math.min(MOST, Math.max(FEWEST, p.length + by));
    if (n !== p.length) set({ p: resize(p, n), q: resize(q, n) });
  });
  const presetsLabel = el("span", { class: "ss-label", text: words.presets.label });
  root.replaceChildren(
    el("div", { class: "ss ss-explain" },
      el("section", { class: "ss-panel ss-playground" },
        el("h2", { text: words.title }),
        prose(words.glossary, words.lead, "ss-lead"),
        el("div", { class: "ss-controlrow" }, presetsLabel, presets.root, counter.root),
        el("p", { class: "ss-sub", text: words.editorHow }),
        pair.root,
        el("p", { class: "ss-sub ss-grammar", text: words.sub }),
      ),
      el("section", { class: "ss-panel" }, el("h2", { text: words.dice.title }), el("p", { class: "ss-lead", text: words.dice.lead }), dice.root),
      recorded.root,
      same.root,
      el("section", { class: "ss-panel ss-questions" },
        ...words.questions.map(([question, answer]) => el("div", {}, el("h3", { text: question }), prose(words.glossary, answer))),
      ),
    ),
  );

  function draw() {
    queued = 0;
    const cats = categories(p, q), names = words.tokens.slice(0, p.length), { overlap, error } = pair.draw(cats, names);
    const sentence = overlap > 1 - 1e-12 ? words.noResidual : words.identitySentence(overlap, words.identityError(error));
    counter.draw(p.length);
    pair.sentence.replaceChildren(...rich(words.glossary, sentence));
    dice.set(cats, names);
  }
  function hide() {
    dice.stop();
    recorded.stop();
  }
  presets.mark("disagree");
  draw();
  function refresh() {
    recorded.refresh();
    same.refresh();
  }
  return { refresh, hide };
}
