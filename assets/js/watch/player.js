// The player: draws a trace and lets a reader walk it step by step. It needs no server: the saved page runs the same code.
import { placeOf, stepFor } from "../page/address.js";
import { presenting } from "../page/present.js";
import { buildSteps, defaultSelection, openingRound } from "../trace/steps.js";
import { emptyTrace, makeReader } from "../trace/trace.js";
import { langOf, wordsFor } from "../words/languages.js";
import { createClock } from "./clock.js";
import { createParts } from "./player_parts.js";

const DEFAULTS = {
  ndjson: "",         // the text of a trace
  words: null,        // the player's words in one language; English without
  place: null,        // {run, round, step} to open at
  share: true,        // the row for links and files below the player
  intro: null,        // {lesson, own}: the words for newcomers above it
  loadPlotly: null,   // () => a promise of Plotly
  link: null,         // () => the address to share
  present: null,      // () => begins the presenter's view
  send: null,         // (request) => a live branch
  onPlace: null,      // (place) => the reader is there now
  onState: null,      // () => something was drawn or changed
  onRun: null,        // () => another run is shown
};

class Player {
  trace = emptyTrace();
  steps = [];
  ends = [];        // the index of each round's last step
  at = 0;           // the index of the step that is shown
  sel = null;       // the chosen token: index of a drafted one, "end", or null
  raw = "";         // the text of the trace
  #reader = makeReader();
  #frame = 0;       // the frame in which it will be drawn, 0 for none
  #follow = false;  // stay at the last step while the run grows
  #opened = false;  // a run has been shown before
  #news = false;    // the trace has changed since it was drawn
  #untouched = false;   // nobody has moved since it opened: Play then begins at the start

  constructor(root, options) {
    this.root = root;
    this.options = { ...DEFAULTS, ...options };
    this.words = this.options.words ?? wordsFor(langOf("en")).player;
    this.parts = createParts(this.words, this.#actions(), this.options);
    this.whatif = this.parts.whatif;
    this.clock = createClock({
      steps: () => this.steps,
      at: () => this.at,
      move: (k) => this.go(k, true),
      ended: () => this.parts.showPlaying(false),
    });
    root.replaceChildren(this.parts.root);
    document.addEventListener("keydown", this.#onKey);
    this.update(this.options.ndjson);
  }

  // What the reader can do with the parts.
  #actions() {
    const sharing = {
      get: () => ({ trace: this.trace, ndjson: this.raw, place: this.steps.length ? placeOf(this.steps, this.ends, this.at) : null }),
      open: (ndjson) => this.update(ndjson),
    };
    return {
      sharing,
      toggle: () => this.toggle(),
      first: () => this.go(0),
      back: () => this.go(this.at - 1),
      forward: () => this.go(this.at + 1),
      last: () => this.go(this.steps.length - 1),
      goToRound: (r) => this.go(this.ends[r]),
      setSpeed: (to) => this.clock.set(to),
      select: (i) => this.select(i),
      pickToken: (r, i) => {
        this.go(this.ends[r]);
        if (i !== null) this.select(i);
      },
    };
  }

  // Plays, or stops playing.
  toggle() {
    if (this.clock.playing) this.clock.stop();
    else {
      if (this.#untouched || this.at >= this.steps.length - 1) this.go(0);
      this.#follow = false;
      this.clock.play();
    }
    this.parts.showPlaying(this.clock.playing);
  }

  // To step k. playing: the clock moved there, not the reader.
  go(k, playing = false) {
    if (!this.steps.length) return;
    this.#stand(k);
    this.#untouched = false;
    if (!playing) {
      this.clock.seek();
      this.#follow = this.at === this.steps.length - 1 && !this.trace.totals;
      if (this.#opened) this.#tellPlace();
    }
    this.#queue();
  }
  #stand(k) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, k));
    this.sel = defaultSelection(this.trace.rounds[this.steps[this.at].r], this.steps[this.at]);
  }
  #tellPlace() {
    const run = this.trace.source === "recorded" ? this.trace.name : null;
    this.options.onPlace?.({ run, ...placeOf(this.steps, this.ends, this.at) });
  }

  // To the end of another round: forward, first of all to the end of this one.
  goRound(delta) {
    const r = this.steps[this.at]?.r ?? 0, settled = this.at === this.ends[r], to = delta < 0 || settled ? r + delta : r;
    this.go(this.ends[Math.max(0, Math.min(this.ends.length - 1, to))]);
  }

  select(i) {
    if (this.sel === i) return;
    this.sel = i;
    this.#queue();
  }

  // A trace as text: another one, or more of the one that is shown.
  update(value) {
    this.raw = typeof value === "string" ? value : "";
    const { trace, fresh } = this.#reader.read(value);
    this.trace = trace;
    this.#news = true;
    ({ steps: this.steps, ends: this.ends } = buildSteps(trace.rounds));
    if (fresh) this.#openRun();
    if (this.steps.length && (this.#follow || this.at >= this.steps.length)) this.#stand(this.steps.length - 1);
    if (trace.totals) this.#follow = false;
    this.#queue();
  }

  // Another run is shown from now on.
  #openRun() {
    this.parts.reset();
    this.clock.stop();
    this.parts.showPlaying(false);
    this.#follow = !this.trace.totals;
    if (!this.steps.length) return;
    if (!this.#follow) this.#goToOpening();
    else if (this.#opened) this.options.onPlace?.({ run: null, round: null, step: null });
    this.#opened = true;
    this.options.onRun?.();
  }

  // Where a finished run opens: at the place that the address names, once, else at the first round that drafted.
  #goToOpening() {
    const { place } = this.options, mine = place && (!place.run || place.run === this.trace.name);
    const asked = mine ? stepFor(place, { ends: this.ends }) : null;
    if (asked !== null || (place && this.trace.name === place.run)) this.options.place = null;
    this.go(asked ?? this.ends[openingRound(this.trace.rounds)]);
    this.#untouched = asked === null;
  }

  #queue() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }
  #draw() {
    this.#frame = 0;
    const { trace, steps, ends, at, sel, root } = this;
    if (this.#news) this.parts.drawRun(trace, steps.length > 0);
    this.#news = false;
    root.dataset.complete = trace.totals ? (trace.plain ? "plain" : "totals") : "no";
    if (!steps.length) return;
    const step = steps[at];
    root.dataset.phase = step.phase;
    root.dataset.round = step.r;
    this.parts.draw({ trace, step, sel }, step.phase === "settle" || at === ends[step.r]);
    this.options.onState?.();
  }

  recolour() {
    this.parts.speedup.recolour();
  }

  destroy() {
    document.removeEventListener("keydown", this.#onKey);
    this.clock.stop();
    this.parts.destroy();
    cancelAnimationFrame(this.#frame);
    this.root.replaceChildren();
  }

  #onKey = (e) => {
    if (e.defaultPrevented || e.altKey || e.ctrlKey || e.metaKey || !this.root.isConnected || this.root.offsetParent === null) return;
    const typing = e.target.closest?.("input, textarea, select, [contenteditable], [role=radiogroup], [role=tablist]");
    if (typing || this.parts.help.root.open) return;
    if (e.key === " " && e.target.closest?.("button, a, [role=button], summary")) return;
    const act = this.#actionOf(e);
    if (!act || !this.steps.length) return;
    e.preventDefault();
    act();
  };

  // What a key does, or undefined. The clickers of presenters send PageUp and PageDown.
  #actionOf({ key, shiftKey }) {
    const back = () => this.go(this.at - 1), forward = () => this.go(this.at + 1);
    const always = {
      ArrowLeft: shiftKey ? () => this.goRound(-1) : back,
      ArrowRight: shiftKey ? () => this.goRound(1) : forward,
      " ": () => this.toggle(),
      Home: () => this.go(0),
      End: () => this.go(this.steps.length - 1),
      "?": this.parts.help.toggle,
    };
    return always[key] ?? (presenting() ? { PageUp: back, PageDown: forward }[key] : undefined);
  }
}

// Puts a player into `root`. options: see DEFAULTS.
export const mount = (root, options = {}) => new Player(root, options);
