// The panel of the closed form: sliders for its numbers, what it expects, and the run beside it.
import { choiceBox, createRunChips } from "../page/choices.js";
import { el, say } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { fixed, probLong, ratio } from "../page/numbers.js";
import { MOST_DRAFTS, propagated } from "./model.js";
import { alphaChart, lengthChart } from "./speedup_charts.js";

// change(key, value): a slider was moved.
function createSliders(w, change) {
  function slider(key, min, max, step, text) {
    const value = el("output", {}), moved = () => change(key, Number(input.value));
    const input = el("input", { type: "range", class: "ss-range", min, max, step, "data-key": key, "aria-label": w[key], oninput: moved });
    function set(x) {
      input.value = x;
      value.textContent = text(x);
      input.setAttribute("aria-valuetext", text(x));
    }
    return { root: el("label", { class: "ss-slider" }, el("span", {}, `${w[key]} `, value), input), set };
  }
  const sliders = {
    alpha: slider("alpha", 0, 1, 0.01, probLong),
    k: slider("k", 1, MOST_DRAFTS, 1, String),
    c: slider("c", 0, 1, 0.005, (x) => fixed(x, 2)),
    load: slider("load", 0, 1, 0.05, (x) => w.loaded(x)),
  };
  const vName = el("span", {}), vValue = el("output", {}), v = el("p", { class: "ss-slider" }, vName, " ", vValue);
  // pass: the cost of a pass over k + 1 tokens, in plain steps.
  function draw(state, pass) {
    for (const key of Object.keys(sliders)) sliders[key].set(state[key]);
    vValue.textContent = fixed(pass, 2);
    say(vName, w.v(state.load > 0));
  }
  return { nodes: [sliders.alpha.root, sliders.k.root, sliders.c.root, v, sliders.load.root], draw };
}

// What the closed form expects.
function createResult(words) {
  const w = words.model, big = el("b"), bigLabel = el("span");
  const why = el("p", { class: "ss-say", "aria-live": "polite" }), breakEven = el("p", { class: "ss-note" });
  const root = el("div", { class: "ss-expected-result", "data-slow": "no" },
    el("div", { class: "ss-stat ss-big" }, big, bigLabel),
    el("div", {}, why, breakEven),
  );
  function draw({ k, alpha }, expected) {
    const slow = expected.speed < 1, sentence = `${w.breakEven(k, expected.breakEven, alpha)} ${w.best(...expected.best, alpha)}`;
    root.dataset.slow = slow ? "yes" : "no";
    root.parentNode.dataset.speed = expected.speed.toFixed(4);
    say(big, ratio(expected.speed));
    say(bigLabel, w.big(expected.speed));
    say(why, slow ? w.slower(k, expected.yields, expected) : w.yields(k, expected.yields, expected.all));
    breakEven.replaceChildren(...rich(words.glossary, sentence));
  }
  return { root, draw };
}

// The key of the marks of the run, and what is said of it.
function createRunWords(w) {
  const diamond = el("span", { class: "ss-diamondline" }, el("i", { class: "ss-diamondkey" }), w.diamond);
  const legend = el("p", { class: "ss-keyline" }, el("span", {}, el("i", { class: "ss-pointkey" }), w.point), diamond);
  const sentence = el("p", { class: "ss-say" }), slow = el("p", { class: "ss-slowwords" });
  // elsewhere: the run was timed at other costs than those that are shown.
  function draw(facts, state, elsewhere) {
    const slower = facts !== null && facts.measured !== null && facts.measured < 1 && facts.cost;
    sentence.hidden = !facts;
    legend.hidden = !facts || facts.tree;
    diamond.hidden = !facts || facts.measured === null || elsewhere;
    slow.hidden = !slower;
    if (slower) say(slow, w.slowRun(facts.cost));
    if (facts) say(sentence, facts.tree ? w.todayTree(facts) : w.today({ ...facts, expected: propagated(facts, state), elsewhere }));
  }
  return { nodes: [legend, sentence, slow], draw };
}

// get() -> what the charts show. act: {change(key, value), reset(), choose(entry), takeCosts("machine" or "run")}.
export function createModelPanel(words, get, act) {
  const w = words.model, sliders = createSliders(w, act.change), result = createResult(words), runWords = createRunWords(w);
  const lengths = lengthChart(words, get), alphas = alphaChart(words, get), status = el("p", { class: "ss-sub", role: "status" });
  const chips = createRunChips(w.run, (entry) => (entry.name === "live" ? w.live : w.name(entry)), act.choose);
  const option = (value) => ({ value, text: w.costsFrom[value], checked: false, attrs: { "data-costs": value } });
  const source = choiceBox({ legend: w.costs, name: "ss-costs-from", options: ["machine", "run"].map(option), pick: act.takeCosts });
  const reset = el("button", { type: "button", class: "ss-btn ss-wide", "data-act": "reset", text: w.reset, onclick: act.reset });
  const root = el("section", { class: "ss-panel ss-model" },
    el("h2", { text: w.title }),
    prose(words.glossary, w.lead, "ss-lead"),
    el("div", { class: "ss-controlrow" }, chips.root, source),
    status,
    el("div", { class: "ss-sliders" }, ...sliders.nodes, reset),
    prose(words.glossary, w.many, "ss-note"),
    result.root,
    el("div", { class: "ss-pairgrid" },
      el("section", {}, el("h3", { text: w.overLength }), lengths.root),
      el("section", {}, el("h3", { text: w.overAlpha }), alphas.root),
    ),
    ...runWords.nodes,
  );

  // Whose costs are used. known: this machine was measured, so there is a choice.
  function drawSource(from, known, live) {
    source.hidden = !known;
    say(source.querySelector('[data-costs="run"]'), live ? w.live : w.costsFrom.run);
    for (const input of source.querySelectorAll("input")) input.checked = input.value === from;
  }
  function draw({ state, expected, facts, elsewhere }) {
    sliders.draw(state, expected.pass);
    lengths.redraw();
    alphas.redraw();
    result.draw(state, expected);
    runWords.draw(facts, state, elsewhere);
  }
  return { root, chips, draw, drawSource, status: (text) => say(status, text) };
}
