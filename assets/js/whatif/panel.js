// The panel "What if": the chosen position of the run, with another u, other distributions, another draft length, or another token. It is
// drawn only while it is open. Nothing here asks the server, except a live branch, through `send`.
import { el, say } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { closingTable, offered, tableFor } from "../trace/steps.js";
import { createBranch } from "./branch.js";
import { createDistributions } from "./distributions.js";
import { createLength } from "./length_panel.js";
import { createRoll } from "./roll.js";
import { agree, atTemperature, judge, sandbox, summary, withValues } from "./sandbox.js";
import { createUniform } from "./uniform.js";

// The table of a selection, and its sandbox. A place with siblings has none: p/q is the acceptance probability of a single token only.
function placeOf(round, sel) {
  const d = typeof sel === "number" ? round.drafted[sel] : null;
  const table = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
  const several = d !== null && offered(round, d.parent).length > 1;
  const box = d && table && !several ? sandbox(table, { drafted: d.id, drawn: round.emitted.at(-1)?.id ?? null }) : null;
  return { d, table, several, box: box && box.at >= 0 ? box : null };
}

class WhatIf {
  #view = null;         // what the player shows
  #key = "";            // what was drawn
  #place = { d: null, box: null };
  #cats = [];           // the categories as the reader has changed them
  #u = 0.5;
  #temperature = 0;
  #touched = false;     // p or q were changed
  #overlap = null;
  #outcome = null;      // accepted or rejected, as changed
  #rolledFor = null;    // the categories that the dice were given

  constructor(words, send, changed) {
    const w = (this.words = words.whatif);
    this.changed = changed;
    this.about = el("p", { class: "ss-sub" });
    this.none = el("p", { class: "ss-sub", text: w.none });
    this.uniform = createUniform(w.u, (u) => this.#change({ u }));
    this.distributions = createDistributions(w, Boolean(send), (change) => this.#change(change));
    this.roll = createRoll(w.roll, changed);
    this.length = createLength(w.length, changed);
    this.branch = createBranch(w.branch, send);
    this.parts = el("div", { class: "ss-wgrid" }, this.uniform.root, this.roll.root, this.distributions.root);
    this.root = el("details", { class: "ss-panel ss-whatifpanel", ontoggle: () => this.#toggled() },
      el("summary", {}, el("h2", { text: w.title })),
      el("p", { class: "ss-sub ss-wlead", text: w.lead }),
      this.about,
      el("div", { class: "ss-whatif" }, this.none, this.parts, this.length.root, this.branch.root),
    );
  }

  #toggled() {
    if (this.root.open && this.#view) this.draw(this.#view, true);
    this.changed();
  }

  // Everything as recorded.
  #start() {
    const { d, box } = this.#place;
    this.#cats = box.cats;
    this.#touched = false;
    this.#u = d.u ?? 0.5;
    this.#temperature = Number(this.#view.trace.run?.sampling?.temperature ?? 1);
  }
  // What the reader did: {u}, {p, q}, {temperature} or {reset: true}.
  #change({ u, p, q, temperature, reset }) {
    if (!this.#place.box) return;   // a reader can be quicker than the panel that is about to open
    if (reset) this.#start();
    else if (u !== undefined) this.#u = u;
    else if (temperature !== undefined) this.#heat(temperature);
    else this.#touch(withValues(withValues(this.#cats, "p", p), "q", q));
    this.#show();
  }
  #heat(temperature) {
    const heated = atTemperature(this.#place.box, temperature);
    this.#temperature = temperature;
    if (heated) this.#touch(heated);
  }
  #touch(cats) {
    this.#cats = cats;
    this.#touched = true;
  }

  #show() {
    const { d, box } = this.#place, w = this.words, now = summary(this.#cats), judged = judge(now.cats[box.at], this.#u);
    const names = this.#cats.map((c) => (c.others ? w.pair.others : short(c.text, 14)));
    this.uniform.draw(this.#u, judged, d, this.#view.trace.run?.verify);
    this.distributions.draw(now, names, this.#temperature, box.all.filter((c) => c.lp !== null).length);
    if (this.#rolledFor !== this.#cats) {
      this.#rolledFor = this.#cats;
      this.roll.set(agree(this.#cats), names);
    }
    this.#overlap = now.overlap;
    this.#outcome = judged.verdict;
    this.root.dataset.verdict = judged.verdict ?? "";
    this.changed();
  }

  // view: {trace, step, sel}. force: also if it has been drawn.
  draw(view, force = false) {
    this.#view = view;
    if (!this.root.open) return;
    const { trace, step, sel } = view, now = `${step.r}/${sel}/${trace.rounds.length}/${trace.name ?? ""}`;
    this.length.draw(trace);
    if (now === this.#key && !force) return;
    this.#key = now;
    this.#place = placeOf(trace.rounds[step.r], sel);
    const { d, box, table, several } = this.#place;
    say(this.none, several ? this.words.several : this.words.none);
    this.none.hidden = Boolean(box);
    this.parts.hidden = !box;
    say(this.about, d ? this.words.at(d.text) : "");
    if (box) {
      this.#start();
      this.#show();
    }
    this.branch.draw(trace, step.r, table);
  }

  // Another run.
  reset() {
    this.#key = "";
    this.#place = { ...this.#place, box: null };
  }

  // What the lesson looks at.
  get state() {
    const { d, box } = this.#place;
    return {
      open: this.root.open,
      ready: Boolean(box) && this.root.open,
      u: this.#u,
      verdict: box ? (this.#outcome ?? "") : null,
      was: d?.verdict ?? null,
      changedU: Boolean(d) && d.u !== null && Math.abs(this.#u - d.u) > 1e-6,
      touched: this.#touched,
      overlap: box ? this.#overlap : null,
      temperature: this.#temperature,
      rolled: this.roll.rolled,
      length: this.length.state,
    };
  }
}

// send(request): a live branch. changed(): something in here is another now.
export const createWhatIf = (words, { send = null, changed = () => {} } = {}) => new WhatIf(words, send, changed);
