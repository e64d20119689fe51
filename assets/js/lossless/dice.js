// Draws by the right rule or a wrong one, made in the browser: a histogram beside p, and the distance to p as the draws add up.
import { distance, distanceBand, distributionOf, RULES, simulation } from "../distributions/acceptance.js";
import { chartBox } from "../page/charts.js";
import { choiceBox } from "../page/choices.js";
import { el, say } from "../page/dom.js";
import { rich } from "../page/glossary.js";
import { bandAt, CHECKPOINTS, distanceChart, FIRST, inFull, SIZES } from "./distance.js";
import { createHistogram } from "./histogram.js";

const MOST_SEED = 2 ** 32 - 1;
const AT_ONCE = 100_000;   // draws that a change of the distributions makes at once: pulling a bar must be quick
const IN_A_FRAME = 120_000;

const reducedMotion = () => window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;

let made = 0;

// The rule, the number of draws, the seed and the button. state: the dice's own; act: {restart, sayGo, press}.
function createControls(w, state, act) {
  const id = `ss-dice-${(made += 1)}`;
  const seedBox = el("input", { type: "number", class: "ss-seed", min: 0, max: MOST_SEED, step: 1, onchange: seedTyped });
  function seedTyped() {
    state.seed = Math.min(MOST_SEED, Math.max(0, Math.floor(Number(seedBox.value) || 0)));
    act.restart();
  }
  function reseed() {
    state.seed = (state.seed + 1) % (MOST_SEED + 1);
    seedBox.value = state.seed;
    act.restart();
  }
  const group = (name, key, legend, values, textOf, changed) =>
    choiceBox({
      legend,
      name: `${id}-${name}`,
      options: values.map((value) => ({ value, text: textOf(value), checked: value === state[key] })),
      pick(value) {
        state[key] = value;
        changed();
      },
    });
  const go = el("button", { type: "button", class: "ss-btn ss-wide ss-go", onclick: act.press });
  seedBox.value = state.seed;
  const root = el("div", { class: "ss-controls" },
    group("rule", "rule", w.rule, RULES, (rule) => w.rules[rule], act.restart),
    el("div", { class: "ss-controlrow" },
      group("n", "size", w.n, SIZES, inFull, act.sayGo),
      el("label", { class: "ss-seedlabel" }, el("span", { text: w.seed }), seedBox),
      el("button", { type: "button", class: "ss-btn ss-wide", text: w.reseed, onclick: reseed }),
      go,
    ),
  );
  return { root, go };
}

class Dice {
  // rule, size: draws, and seed as chosen; sim: the simulation; tracks: {rule: [[n, distance], ...]}; bands: of the distance.
  #state = { cats: [], names: [], rule: "right", size: 10000, seed: 7, sim: null, tracks: {}, bands: null };
  #frame = 0;   // of the draws in progress, 0 for none

  constructor(words, brokenNote) {
    const w = (this.words = words.dice);
    this.glossary = words.glossary;
    this.brokenNote = brokenNote;
    this.why = el("p", { class: "ss-rulewhy", "aria-live": "polite" });
    this.sentence = el("p", { class: "ss-conclusion", role: "status" });
    const act = { restart: () => this.#restart(), sayGo: () => this.#sayGo(), press: () => (this.#frame ? this.stop() : this.#start()) };
    this.controls = createControls(w, this.#state, act);
    this.histogram = createHistogram(w);
    this.chart = chartBox(w.table, (width) => distanceChart(width, this.#state, w));
    const distanceSub = el("p", { class: "ss-sub" }, ...rich(words.glossary, w.distanceSub));
    const distanceSection = el("section", {}, el("h3", { text: w.distance }), distanceSub, this.chart.root);
    this.root = el("div", { class: "ss-dice" },
      this.controls.root,
      this.why,
      el("div", { class: "ss-pairgrid" }, this.histogram.root, distanceSection),
      this.sentence,
    );
  }

  // Everything drawn so far belonged to other distributions.
  set(cats, names) {
    const p = cats.map((c) => c.p);
    Object.assign(this.#state, { cats, names, tracks: {}, bands: { first: distanceBand(p, FIRST, 600), limit: distanceBand(p) } });
    this.#restart();
  }

  #begin() {
    const state = this.#state;
    state.sim = simulation(state.rule, state.cats, state.seed);
    state.tracks[state.rule] = [];
  }
  #restart() {
    const { rule, size } = this.#state, note = this.brokenNote && rule !== "right" ? ` ${this.brokenNote}` : "";
    this.#halt();
    this.#begin();
    this.#advance(Math.min(size, AT_ONCE));
    this.#sayGo();
    this.why.replaceChildren(...rich(this.glossary, this.words.why[rule] + note));
    this.#paint();
  }
  // Up to n draws in all; the distance is written down at the checkpoints on the way.
  #advance(n) {
    const { sim, cats, tracks, rule } = this.#state, p = cats.map((c) => c.p);
    for (const at of CHECKPOINTS.filter((x) => x > sim.n && x <= n)) {
      sim.more(at - sim.n);
      tracks[rule].push([sim.n, distance(sim.shares(), p)]);
    }
    if (n > sim.n) sim.more(n - sim.n);
  }

  // Draws before the reader's eyes, at a pace that grows with their number: the first ones scatter most.
  #start() {
    const { size } = this.#state, started = performance.now(), seconds = reducedMotion() ? 0 : 0.6 + 0.5 * Math.log10(size);
    this.#begin();
    const tick = (now) => {
      const { sim, size: wanted } = this.#state, share = seconds ? Math.min(1, (now - started) / 1000 / seconds) : 1;
      const due = Math.min(wanted, Math.round(10 * (wanted / 10) ** share));
      this.#advance(Math.min(due, sim.n + IN_A_FRAME));
      const over = sim.n >= wanted;
      this.#frame = over ? 0 : requestAnimationFrame(tick);
      if (over) this.#sayGo();
      this.#paint();
    };
    this.#frame = requestAnimationFrame(tick);
    this.#sayGo();
  }
  #halt() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
  stop() {
    if (!this.#frame) return;
    this.#halt();
    this.#sayGo();
    this.#paint();
  }
  #sayGo() {
    say(this.controls.go, this.#frame ? this.words.stop : this.words.draw(this.#state.size));
    this.controls.go.dataset.running = this.#frame ? "yes" : "no";
  }

  #paint() {
    const { cats, names, rule, sim, bands } = this.#state, { n } = sim, p = cats.map((c) => c.p);
    this.histogram.draw(this.#state);
    this.chart.redraw();
    const exact = distributionOf(rule, cats), off = exact.map((x, i) => x - p[i]), d = distance(sim.shares(), p), band = bandAt(bands, n);
    const worst = off.reduce((b, x, i) => (Math.abs(x) > Math.abs(off[b]) ? i : b), 0);
    this.root.dataset.n = n;
    this.root.dataset.rule = rule;
    this.root.dataset.inside = d <= band[1] ? "yes" : "no";
    if (this.#frame) return;
    say(this.sentence, this.words.conclusion({ rule, n, d, band, wrong: distance(exact, p), token: names[worst], off: off[worst] }));
  }
}

// brokenNote: said with every wrong rule. set(cats, names): other distributions.
export const createDice = (words, brokenNote = null) => new Dice(words, brokenNote);
