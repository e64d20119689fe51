// Several recorded methods side by side on one clock.
import { choiceBox, choiceNodes } from "../page/choices.js";
import { el, say } from "../page/dom.js";
import { fixed, ratio } from "../page/numbers.js";
import { fillTable, tableBehind } from "../page/table.js";
import { exampleName, loadRun } from "../trace/runs.js";
import { finite, isGreedy } from "../trace/trace.js";
import { createLane } from "./lane.js";
import { createRaceClock } from "./race_clock.js";
import { laneOf, laneRate, oneText, plainLane, racing, sameStart } from "./race_model.js";

const sentences = (parts) => parts.filter(Boolean).join(". ");
const temperature = (x) => finite(x.trace.run?.sampling?.temperature);
// What must be the same of all recordings for a fair comparison.
const settings = ({ target, device, dtype, prompt, sampling, max_new_tokens: most }) =>
  JSON.stringify([target, device, dtype, prompt, sampling?.temperature, most]);

// The lanes of an example's recordings, {key, plain, lane, trace, entry, note}. If plain decoding was not recorded by itself, its lane comes
// from a recording that timed it too.
function lanesOf(entries, traces, nameOf, w) {
  const all = entries.map((entry, i) => {
    const trace = traces[i];
    return { key: entry.method, plain: entry.method === "plain", lane: laneOf(nameOf(entry.method), trace), trace, entry };
  });
  const beside = all.find((x) => x.trace.plain), plain = all.some((x) => x.plain) || !beside ? null : plainLane(nameOf("plain"), beside.trace);
  if (!plain) return all;
  const note = sentences([w.plainFrom(beside.lane.name), plain.texts ? "" : w.noText]);
  return [...all, { key: "plain", plain: true, lane: plain, trace: beside.trace, note }];
}

function legend(w) {
  const entry = ([kind, name]) => el("span", { class: "ss-racetok", "data-kind": kind }, el("span", { class: "ss-mark", text: name }));
  return el("p", { class: "ss-keyline" }, ...Object.entries(w.legend).map(entry));
}

// A lane's row: tokens, seconds, tokens a second, speed-up over these tokens and over the whole recording.
function tableRow({ lane, plain, ratio: speedup, entry }) {
  const whole = entry && !plain ? ratio(entry.ratio) : "–";
  return [lane.name, String(lane.tokens.length), fixed(lane.end, 2), fixed(laneRate(lane), 1), plain ? "1×" : ratio(speedup), whole];
}

class Race {
  #chosen = null;      // the example
  #off = new Set();    // the methods that are not shown
  #all = [];           // what lanesOf found
  #lanes = [];         // the lanes that are drawn
  #asked = 0;          // examples asked for so far

  constructor(words, runs) {
    const w = (this.w = words.race), node = (tag, cls, more = {}) => el(tag, { class: cls, ...more });
    this.words = words;
    this.runs = runs;
    this.examples = [...new Set(runs.map((r) => r.example))];
    this.status = node("p", "ss-sub", { role: "status" });
    this.rule = node("p", "ss-note");
    this.laneList = node("ul", "ss-lanelist");
    this.result = node("p", "ss-say");
    this.slower = el("div", {});
    this.differ = node("p", "ss-note", { text: w.differ, hidden: true });
    this.clock = createRaceClock(w, (t) => this.#drawLanes(t));
    this.table = tableBehind(w.table, w.title);
    this.methods = choiceBox();
    const options = this.examples.map((value, k) => ({ value, text: exampleName(words, value), checked: k === 0 }));
    const example = choiceBox({ legend: w.example, name: "ss-race-example", options, pick: (name) => this.#choose(name) });
    const parts = [this.clock.root, this.rule, this.laneList, legend(w), this.result, this.slower, this.differ, this.table.details];
    this.body = el("div", { hidden: true }, ...parts);
    this.root = node("section", "ss-panel ss-side-by-side");
    this.root.append(
      el("h2", { text: w.title }),
      node("p", "ss-lead", { text: w.lead }),
      el("div", { class: "ss-controlrow" }, example, this.methods),
      this.status,
      this.body,
    );
    if (!this.examples.length) say(this.status, w.none);
  }

  // The tab has come into sight: only now recordings are fetched.
  refresh() {
    if (!this.#chosen && this.examples.length) this.#choose(this.examples[0]);
  }
  stop() {
    this.clock.stop();
  }

  #drawLanes(t) {
    for (const lane of this.#lanes) lane.draw(t);
    this.root.dataset.t = t.toFixed(3);
  }

  // Another example.
  async #choose(name) {
    this.#chosen = name;
    this.clock.stop();
    const mine = (this.#asked += 1), entries = racing(this.runs.filter((r) => r.example === name));
    say(this.status, this.w.loading);
    try {
      const traces = await Promise.all(entries.map(loadRun));
      if (mine === this.#asked) this.#show(lanesOf(entries, traces, (method) => this.words.names[method] ?? method, this.w));
    } catch {
      if (mine !== this.#asked) return;
      say(this.status, this.w.failed);
      this.body.hidden = true;
    }
  }
  #show(all) {
    this.#all = all;
    this.#lanes = [];
    this.differ.hidden = new Set(all.map((x) => settings(x.trace.run ?? {}))).size === 1;
    say(this.status, all.some((x) => x.plain) ? "" : this.w.noPlain);
    const attrs = (x) => ({ title: this.words.hints[x.key] ?? null });
    const options = all.map((x) => ({ value: x.key, text: x.lane.name, checked: !this.#off.has(x.key), attrs: attrs(x) }));
    const pick = (key, on) => this.#showMethod(key, on);
    this.methods.replaceChildren(...choiceNodes({ legend: this.w.methods, type: "checkbox", options, pick }));
    this.body.hidden = false;
    this.clock.go(0);
    this.#build();
  }
  #showMethod(key, on) {
    if (on) this.#off.delete(key);
    else this.#off.add(key);
    this.#build();
  }

  // The lanes of the methods that are shown, all with the same number of tokens.
  #build() {
    const { w } = this, race = sameStart(this.#all.filter((x) => !this.#off.has(x.key))), shown = race.lanes;
    const mixed = new Set(shown.map(temperature)).size > 1, heatNote = (x) => (mixed && temperature(x) !== null ? w.heat(temperature(x)) : "");
    this.#lanes = shown.map((x) => createLane(w, x.lane, sentences([x.note, heatNote(x)])));
    this.laneList.replaceChildren(...this.#lanes.map((lane) => lane.root));
    this.#sayRule(race);
    this.#sayResult(race);
    fillTable(this.table.table, { caption: w.title, head: w.head, rows: shown.map(tableRow) });
    this.clock.setEnd(Math.max(0.1, ...shown.map((x) => x.lane.end)));
  }
  #sayRule({ tokens, stretched, lanes: shown }) {
    const { w } = this, sampled = shown.filter((x) => !isGreedy(x.trace)).length;
    const one = sampled > 0 && oneText(shown.map((x) => x.trace));
    const chance = one ? w.oneText : sampled ? w.sampled(sampled < shown.length) : w.greedy;
    say(this.rule, [w.sameTokens(tokens), stretched ? w.stretched : "", chance].filter(Boolean).join(" "));
  }
  #sayResult({ tokens, lanes: shown }) {
    const { w, words } = this, slow = shown.filter((x) => x.entry && words.slower(x.entry));
    const rates = shown.map((x) => ({ name: x.lane.name, rate: laneRate(x.lane), ratio: x.plain ? null : x.ratio }));
    say(this.result, rates.length ? w.conclusion(rates.sort((a, b) => b.rate - a.rate), tokens) : "");
    this.slower.replaceChildren(...slow.map((x) => el("p", { class: "ss-slowwords", text: w.because(x.lane.name, words.slower(x.entry)) })));
  }
}

// runs: the server's list.
export const createRace = (words, runs) => new Race(words, runs);
