// The tab "Why it is faster, and when not": measured costs, the closed form on them, a run as a point on it, acceptance by position.
import { el, say } from "../page/dom.js";
import { prose } from "../page/glossary.js";
import { cleanRuns, liveRun, loadRun } from "../trace/runs.js";
import { believable, costsOf, filled, passPoints, passSeconds } from "../trace/theory.js";
import { parseJson } from "../trace/trace.js";
import { FASTER_EN } from "../words/en/faster.js";
import { createCostsPanel } from "./costs_panel.js";
import { createModelPanel } from "./model_panel.js";
import { expectation, ratiosFor, runFacts } from "./model.js";
import { positionChart } from "./position_chart.js";
import { createShapePanel } from "./shape_panel.js";

// Of this visitor, over changes of language: whether a measurement was asked for (one that another visitor asked for changes nothing here),
// and the last one that can be right.
let wished = false, trusted = null;

class Faster {
  #entry = null;      // the chosen run, {name, ...}
  #trace = null;
  #facts = null;      // runFacts of it
  #costs = trusted;   // of this machine
  #source = trusted ? "machine" : "run";   // whose costs are used
  #refused = false;   // the last measurement cannot be right
  #state = { alpha: 0.6, k: 4, c: 0.1, load: 0, v: () => 1 };   // of the sliders
  #expected = expectation(this.#state);
  #frame = 0;

  constructor(root, { runs = [], words = FASTER_EN, measure = null } = {}) {
    this.words = words;
    this.recorded = cleanRuns(runs);
    this.measure = measure;
    this.costsPanel = createCostsPanel(words, () => this.#costsNow(), measure && (() => this.#ask()));
    this.modelPanel = createModelPanel(words, () => this.#shown(), {
      change: (key, value) => this.#set({ [key]: value }),
      reset: () => this.#takeRun(true),
      choose: (entry) => this.#open(entry),
      takeCosts: (source) => {
        this.#source = source;
        this.#takeRun(false);
      },
    });
    this.shapes = createShapePanel(words);
    this.positions = positionChart(words, () => this.#facts?.positions ?? []);
    this.positionWords = el("p", { class: "ss-say" });
    this.positionPanel = el("section", { class: "ss-panel" },
      el("h2", { text: words.position.title }),
      prose(words.glossary, words.position.lead, "ss-lead"),
      this.positions.root,
      this.positionWords,
    );
    root.replaceChildren(el("div", { class: "ss ss-explain" }, this.costsPanel.root, this.modelPanel.root, this.shapes.root, this.positionPanel));
    this.#queue();
  }

  #costsNow() {
    if (this.#source === "machine" && this.#costs) return this.#costs;
    return costsOf(this.#trace?.run?.costs ?? this.#entry?.costs ?? {});
  }
  // Whether the run was timed at other costs than those that are shown: then its measured speed-up is no point among them.
  #elsewhere() {
    return this.#source === "machine" && this.#entry?.name !== "live";
  }
  // What the charts show. A run of trees is no point on the curves of a chain.
  #shown() {
    const facts = !this.#facts || this.#facts.tree ? null : { ...this.#facts, measured: this.#elsewhere() ? null : this.#facts.measured };
    return { state: { ...this.#state, v: filled(this.#state.v, this.#state.load) }, facts, expected: this.#expected };
  }

  #set(change) {
    this.#state = { ...this.#state, ...change };
    this.#queue();
  }
  // The figures of the run into the sliders. all: also its rate and length, not only what depends on the costs.
  #takeRun(all) {
    const method = this.#facts?.method, own = ratiosFor(costsOf(this.#trace?.run?.costs ?? {}), method);
    const r = ratiosFor(this.#costsNow(), method, own?.c ?? null) ?? own;
    if (r) this.#set({ c: r.c, v: r.v });
    if (all && this.#facts) this.#set({ alpha: this.#facts.alpha, k: this.#facts.k, load: 0 });
    this.#queue();
  }

  async #open(entry) {
    const w = this.words.model;
    this.#entry = entry;
    this.modelPanel.status(w.loading);
    try {
      const trace = await loadRun(entry);
      if (this.#entry !== entry) return;
      this.#trace = trace;
      this.#facts = runFacts(trace);
      this.modelPanel.status(this.#facts ? "" : w.noDraft);
      this.#takeRun(true);
    } catch {
      if (this.#entry === entry) this.modelPanel.status(w.failed);
    }
  }

  // The visitor asks for a measurement.
  #ask() {
    wished = true;
    this.costsPanel.showStatus(this.words.costs.busy, true);
    this.measure();
  }

  // What the server has measured, as JSON: {"calibration": {...}} or {"error": "one sentence"}.
  update(value) {
    const { error, calibration } = parseJson(value || "{}") ?? {}, points = passPoints(calibration?.pass_s), right = believable(points);
    this.#refused = wished && !right;
    this.costsPanel.showStatus(this.#refused ? this.#refusal(points) : typeof error === "string" ? error : "", false);
    if (points.length && right) {
      this.#costs = costsOf(calibration);
      if (wished) {
        this.#source = "machine";
        trusted = this.#costs;
      }
      this.#takeRun(false);
    }
    this.#queue();
  }
  // Why a measurement is not used: its shortest pass.
  #refusal(points) {
    const [n, least] = points.reduce((a, b) => (b[1] < a[1] ? b : a));
    return this.words.costs.refused(n, least / passSeconds(points, 1), Boolean(this.#costs));
  }

  // Called when the tab comes into sight: the Watch tab may have another run by now. A live run may have grown and is read anew.
  refresh() {
    const live = liveRun(), entries = [...this.recorded.filter((e) => e.tested > 0), ...(live ? [live] : [])], current = this.#entry;
    if (!entries.length) this.modelPanel.status(this.words.model.noRuns);
    else {
      const same = entries.find((e) => e.name === current?.name && e.name !== "live");
      const first = same ?? (live && (!current || current.name === "live") ? live : entries[0]);
      this.modelPanel.chips.draw(entries, first);
      if (!same) this.#open(first);
    }
    this.#queue();
  }

  #queue() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }
  #draw() {
    this.#frame = 0;
    const facts = this.#facts, live = this.#entry?.name === "live", known = Boolean(this.#costs);
    const ofMachine = this.#source === "machine" && known;
    this.costsPanel.draw({ ofMachine, live, run: this.#trace?.run ?? {}, again: known || this.#refused });
    this.#expected = expectation(this.#shown().state);
    this.modelPanel.drawSource(this.#source, known, live);
    this.modelPanel.draw({ state: this.#state, expected: this.#expected, facts, elsewhere: this.#elsewhere() });
    this.shapes.draw(this.#trace);
    this.positionPanel.hidden = !facts;
    if (!facts) return;
    this.positions.redraw();
    say(this.positionWords, this.words.position.sentence(facts.positions));
  }
}

// Puts the tab into `root`. measure(): asks the server to measure this machine; without it there is no button.
export const mountFaster = (root, options) => new Faster(root, options);
