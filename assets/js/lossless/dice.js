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

// brokenNote: said with every wrong rule. set(cats, names): other distributions.
export function createDice(words, brokenNote = null) {
  const w = words.dice, state = { cats: [], names: [], rule: "right", size: 10000, seed: 7, sim: null, tracks: {}, bands: null };
  let frameId = 0;
  const why = el("p", { class: "ss-rulewhy", "aria-live": "polite" }), verdict = el("p", { class: "ss-verdict", role: "status" });
  const controls = createControls(w, state, { restart, sayGo, press: () => (frameId ? stop() : start()) });
  const histogram = createHistogram(w), chart = chartBox(w.table, (width) => distanceChart(width, state, w));
  const distanceSub = el("p", { class: "ss-sub" }, ...rich(words.glossary, w.distanceSub));
  const root = el("div", { class: "ss-dice" },
    controls.root,
    why,
    el("div", { class: "ss-pairgrid" }, histogram.root, el("section", {}, el("h3", { text: w.distance }), distanceSub, chart.root)),
    verdict,
  );

  function sayGo() {
    say(controls.go, frameId ? w.stop : w.draw(state.size));
    controls.go.dataset.running = frameId ? "yes" : "no";
  }
  function stop() {
    cancelAnimationFrame(frameId);
    frameId = 0;
    sayGo();
    paint();
  }
  function begin() {
    state.sim = simulation(state.rule, state.cats, state.seed);
    state.tracks[state.rule] = [];
  }
  function restart() {
    cancelAnimationFrame(frameId);
    frameId = 0;
    begin();
    advance(Math.min(state.size, AT_ONCE));
    sayGo();
    why.replaceChildren(...rich(words.glossary, w.why[state.rule] + (brokenNote && state.rule !== "right" ? ` ${brokenNote}` : "")));
    paint();
  }
  // Up to n draws in all; the distance is written down at the checkpoints on the way.
  function advance(n) {
    const { sim, cats, tracks, rule } = state, p = cats.map((c) => c.p);
    for (const at of CHECKPOINTS.filter((x) => x > sim.n && x <= n)) {
      sim.more(at - sim.n);
      tracks[rule].push([sim.n, distance(sim.shares(), p)]);
    }
    if (n > sim.n) sim.more(n - sim.n);
  }
  // Draws before the reader's eyes, at a pace that grows with their number: the first ones scatter most.
  function start() {
    begin();
    const started = performance.now(), seconds = reducedMotion() ? 0 : 0.6 + 0.5 * Math.log10(state.size);
    function tick(now) {
      const share = seconds ? Math.min(1, (now - started) / 1000 / seconds) : 1;
      const wanted = Math.min(state.size, Math.round(10 * (state.size / 10) ** share));
      advance(Math.min(wanted, state.sim.n + IN_A_FRAME));
      const over = state.sim.n >= state.size;
      frameId = over ? 0 : requestAnimationFrame(tick);
      if (over) sayGo();
      paint();
    }
    frameId = requestAnimationFrame(tick);
    sayGo();
  }

  function paint() {
    const { cats, names, rule, sim, bands } = state, { n } = sim;
    histogram.draw(state);
    chart.redraw();
    const p = cats.map((c) => c.p), exact = distributionOf(rule, cats), off = exact.map((x, i) => x - p[i]);
    const worst = off.reduce((b, x, i) => (Math.abs(x) > Math.abs(off[b]) ? i : b), 0), d = distance(sim.shares(), p), band = bandAt(bands, n);
    root.dataset.n = n;
    root.dataset.rule = rule;
    root.dataset.inside = d <= band[1] ? "yes" : "no";
    if (!frameId) say(verdict, w.verdict({ rule, n, d, band, wrong: distance(exact, p), token: names[worst], off: off[worst] }));
  }

  // Everything drawn so far belonged to other distributions.
  function set(cats, names) {
    const p = cats.map((c) => c.p);
    Object.assign(state, { cats, names, tracks: {}, bands: { first: distanceBand(p, FIRST, 600), limit: distanceBand(p) } });
    restart();
  }
  return { root, set, stop: () => { if (frameId) stop(); } };
}
