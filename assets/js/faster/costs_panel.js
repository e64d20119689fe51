// The panel of the costs: what a pass takes, whose costs these are, and the button that measures this machine.
import { el, say } from "../page/dom.js";
import { prose } from "../page/glossary.js";
import { short } from "../page/glyphs.js";
import { floorSeconds, passParts, passPoints, passSeconds } from "../trace/theory.js";
import { costChart } from "./cost_chart.js";

const FIVE = 5;   // tokens of the pass that the sentence compares with one

// Where a run was made, in words.
function aboutRun(run) {
  const day = typeof run.created === "string" ? run.created.slice(0, 10) : null;
  return [run.target, run.device, run.dtype, run.software?.machine, day]
    .filter((x) => typeof x === "string" && x)
    .map((x) => short(x.replaceAll(" ", "\u2009"), 44))
    .join(", ");
}

// get() -> the costs to show. press(): the button was pressed.
export function createCostsPanel(words, get, press) {
  const w = words.costs, chart = costChart(words, get);
  const from = el("p", { class: "ss-sub" }), sentence = el("p", { class: "ss-say" });
  const floorSentence = el("p", { class: "ss-note" }), arithmetic = el("p", { class: "ss-note" });
  const status = el("p", { class: "ss-sub ss-measuring", role: "status" });
  const button = el("button", { type: "button", class: "ss-btn ss-wide", "data-act": "measure", text: w.measure, onclick: press });
  const note = el("p", { class: "ss-sub", text: w.measureNote });
  const beside = el("div", { class: "ss-besides" }, sentence, floorSentence, arithmetic, button, note, status);
  const root = el("section", { class: "ss-panel" },
    el("h2", { text: w.title }),
    prose(words.glossary, w.lead, "ss-lead"),
    el("div", { class: "ss-chartgrid" }, el("div", {}, el("h3", { text: w.chart }), from, chart.root), beside),
  );

  function sayFrom(costs, { ofMachine, live, run }) {
    const about = aboutRun(run);
    say(from, ofMachine ? w.from.machine(costs) : about ? w.from[live ? "live" : "run"](about) : "");
  }
  function saySentence(points, one) {
    const five = passSeconds(points, FIVE), noisy = points.some(([, s]) => s < one);
    say(sentence, `${w.sentence(FIVE, five / one, one, five)}${noisy ? ` ${w.noisy}` : ""}`);
  }
  function sayFloor(costs, points, one, run) {
    const floor = floorSeconds(costs), packed = /\bI?Q\d\w*/.exec(String(run.target ?? ""))?.[0] ?? "";
    const more = { ...passParts(points), dtype: String(costs?.dtype ?? run.dtype ?? ""), packed };
    say(floorSentence, floor && one ? w.floorSentence(costs, floor, floor / one, more) : w.noFloor);
  }
  // state: {ofMachine: these are this machine's costs, live: the run is a live one, run: its record, again: it was measured before}.
  function draw(state) {
    const costs = get(), points = passPoints(costs.passes), one = passSeconds(points, 1);
    chart.redraw();
    sayFrom(costs, state);
    if (one) saySentence(points, one);
    sayFloor(costs, points, one, state.run);
    say(arithmetic, typeof state.run.row_exact === "boolean" ? w.arithmetic(short(String(state.run.dtype), 20), state.run) : "");
    say(button, state.again ? w.again : w.measure);
    button.hidden = !press;
  }
  // busy: a measurement is in progress.
  function showStatus(text, busy) {
    button.disabled = busy;
    say(status, text);
  }
  return { root, draw, showStatus };
}
