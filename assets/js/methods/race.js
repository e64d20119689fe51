// Several recorded methods side by side on one clock.
import { choiceBox, choiceNodes } from "../page/choices.js";
import { el, say } from "../page/dom.js";
import { fixed, ratio } from "../page/numbers.js";
import { fillTable, tableBehind } from "../page/table.js";
import { exampleName, loadRun } from "../trace/runs.js";
import { finite, isGreedy } from "../trace/trace.js";
import { createLane } from "./lane.js";
import { createRaceClock } from "./race_clock.js";
import { laneOf, laneRate, plainLane, sameStart } from "./race_model.js";

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

// runs: the server's list. refresh(): the tab has come into sight; only then recordings are fetched.
export function createRace(words, runs) {
  const w = words.race, examples = [...new Set(runs.map((r) => r.example))], nameOf = (method) => words.names[method] ?? method;
  const status = el("p", { class: "ss-sub", role: "status" }), rule = el("p", { class: "ss-note" }), laneList = el("ul", { class: "ss-lanelist" });
  const result = el("p", { class: "ss-say" }), slower = el("div", {}), differ = el("p", { class: "ss-note", text: w.differ, hidden: true });
  const clock = createRaceClock(w, drawLanes), { table, details } = tableBehind(w.table, w.title), methods = choiceBox();
  const options = examples.map((value, k) => ({ value, text: exampleName(words, value), checked: k === 0 }));
  const example = choiceBox({ legend: w.example, name: "ss-race-example", options, pick: choose });
  const body = el("div", { hidden: true }, clock.root, rule, laneList, legend(w), result, slower, differ, details);
  const root = el("section", { class: "ss-panel ss-side-by-side" },
    el("h2", { text: w.title }),
    el("p", { class: "ss-lead", text: w.lead }),
    el("div", { class: "ss-controlrow" }, example, methods),
    status,
    body,
  );
  let chosen = null, off = new Set(), all = [], lanes = [], asked = 0;   // off: the methods that are not shown

  function drawLanes(t) {
    for (const lane of lanes) lane.draw(t);
    root.dataset.t = t.toFixed(3);
  }

  // Another example.
  async function choose(name) {
    chosen = name;
    clock.stop();
    const mine = (asked += 1), entries = runs.filter((r) => r.example === name);
    say(status, w.loading);
    try {
      const traces = await Promise.all(entries.map(loadRun));
      if (mine === asked) show(lanesOf(entries, traces, nameOf, w));
    } catch {
      if (mine !== asked) return;
      say(status, w.failed);
      body.hidden = true;
    }
  }
  function show(found) {
    all = found;
    differ.hidden = new Set(all.map((x) => settings(x.trace.run ?? {}))).size === 1;
    say(status, all.some((x) => x.plain) ? "" : w.noPlain);
    const option = (x) => ({ value: x.key, text: x.lane.name, checked: !off.has(x.key), attrs: { title: words.hints[x.key] ?? null } });
    methods.replaceChildren(...choiceNodes({ legend: w.methods, type: "checkbox", options: all.map(option), pick: showMethod }));
    body.hidden = false;
    lanes = [];
    clock.go(0);
    build();
  }
  function showMethod(key, on) {
    if (on) off.delete(key);
    else off.add(key);
    build();
  }

  // The lanes of the methods that are shown, all with the same number of tokens.
  function build() {
    const race = sameStart(all.filter((x) => !off.has(x.key))), shown = race.lanes, mixed = new Set(shown.map(temperature)).size > 1;
    const heatNote = (x) => (mixed && temperature(x) !== null ? w.heat(temperature(x)) : "");
    lanes = shown.map((x) => createLane(w, x.lane, sentences([x.note, heatNote(x)])));
    laneList.replaceChildren(...lanes.map((lane) => lane.root));
    sayRule(race);
    sayResult(race);
    fillTable(table, { caption: w.title, head: w.head, rows: shown.map(tableRow) });
    clock.setEnd(Math.max(0.1, ...shown.map((x) => x.lane.end)));
  }
  function sayRule({ tokens, stretched, lanes: shown }) {
    const sampled = shown.filter((x) => !isGreedy(x.trace)).length, chance = sampled ? w.sampled(sampled < shown.length) : w.greedy;
    say(rule, [w.sameTokens(tokens), stretched ? w.stretched : "", chance].filter(Boolean).join(" "));
  }
  function sayResult({ tokens, lanes: shown }) {
    const rates = shown.map((x) => ({ name: x.lane.name, rate: laneRate(x.lane), ratio: x.plain ? null : x.ratio }));
    const slow = shown.filter((x) => x.entry && words.slower(x.entry));
    say(result, rates.length ? w.verdict(rates.sort((a, b) => b.rate - a.rate), tokens) : "");
    slower.replaceChildren(...slow.map((x) => el("p", { class: "ss-slowwords", text: w.because(x.lane.name, words.slower(x.entry)) })));
  }

  if (!examples.length) say(status, w.none);
  return { root, refresh() { if (!chosen && examples.length) choose(examples[0]); }, stop: clock.stop };
}
