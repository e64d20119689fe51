// The same experiment at a position of a recorded run, where the p and q of two real models are on record.
import { fromTable } from "../distributions/acceptance.js";
import { createPair } from "../distributions/pair.js";
import { createRunChips } from "../page/choices.js";
import { el, rove, say } from "../page/dom.js";
import { short, tail } from "../page/glyphs.js";
import { liveRun, loadRun } from "../trace/runs.js";
import { contextBefore, decider, offered, tableFor } from "../trace/steps.js";
import { createDice } from "./dice.js";

// Pure: the drafted tokens of a round that have no siblings and whose p and q are on record -> [{i, d, table, cats}].
export function positions(round) {
  return round.drafted
    .map((d, i) => ({ i, d, table: tableFor(round, i) }))
    .map((x) => ({ ...x, cats: x.table ? fromTable(x.table) : null }))
    .filter((x) => x.cats && offered(round, x.d.parent).length === 1);
}

// Pure: the position to begin with, {r, i}: a tested token at which p and q overlap by about a half, so that there is something to see.
export function openingPlace(trace) {
  let best = null;
  trace.rounds.forEach((round, r) => {
    for (const x of positions(round).filter(({ d }) => d.verdict !== "not_reached")) {
      const off = Math.abs((x.table.overlap ?? 0) - 0.5) - 0.002 * x.cats.length;
      if (!best || off < best.off - 1e-9) best = { r, i: x.i, off };
    }
  });
  return best;
}

// The slider over the rounds that have such positions, and the buttons for the positions of a round. pick(r, i): one was chosen.
function createPlaceChooser(w, pick) {
  const slider = el("input", { type: "range", min: 1, step: 1, class: "ss-range", "aria-label": w.round });
  const where = el("span", { class: "ss-where2" });
  const tokens = el("div", { class: "ss-tokens", role: "group", "aria-label": w.position });
  let trace = null, rounds = [];   // rounds: those that have positions
  rove(tokens, "button");
  slider.addEventListener("input", () => {
    const r = rounds[Number(slider.value) - 1];
    pick(r, positions(trace.rounds[r]).find((x) => x.d.verdict !== "accepted")?.i ?? 0);
  });

  function tokenButton({ i, d }, r, pressed) {
    const choose = () => {
      pick(r, i);
      tokens.querySelector('[aria-pressed="true"]').focus();
    };
    const attrs = { class: "ss-tokenbtn", "data-kind": d.verdict, "aria-pressed": String(pressed), tabindex: pressed ? "0" : "-1" };
    const label = w.positionLabel(short(d.text, 40), w.acceptance[d.verdict]);
    return el("button", { type: "button", ...attrs, "aria-label": label, onclick: choose },
      el("code", { text: short(d.text, 14), dir: "auto" }),
      el("small", { text: w.acceptance[d.verdict] }),
    );
  }
  function open(next) {
    trace = next;
    rounds = trace.rounds.map((_, k) => k).filter((k) => positions(trace.rounds[k]).length);
    slider.max = rounds.length;
  }
  function draw(r, places, place) {
    const text = w.choose(r, trace.rounds.length - 1);
    slider.value = rounds.indexOf(r) + 1;
    slider.setAttribute("aria-valuetext", text);
    say(where, text);
    tokens.replaceChildren(...places.map((x) => tokenButton(x, r, x === place)));
  }
  const row = el("div", { class: "ss-controlrow ss-roundrow" }, el("span", { class: "ss-label", text: w.round }), slider, where);
  return { nodes: [row, el("span", { class: "ss-label", text: w.position }), tokens], open, draw };
}

export function createRecorded(words, runs) {
  const w = words.real, status = el("p", { class: "ss-sub", role: "status" }), context = el("h3", {}), sentence = el("p", { class: "ss-note" });
  const pair = createPair({ ...words, head: w.head }), dice = createDice(words, w.broken), chooser = createPlaceChooser(w, draw);
  const chips = createRunChips(w.run, (e) => (e.name === "live" ? w.live : w.name(e)), open);
  const body = el("div", { hidden: true }, ...chooser.nodes, context, pair.root, sentence, dice.root);
  const lead = el("p", { class: "ss-lead", text: w.lead });
  const root = el("section", { class: "ss-panel" }, el("h2", { text: w.title }), lead, chips.root, status, body);
  let entry = null, trace = null;

  async function open(next) {
    entry = next;
    say(status, w.loading);
    try {
      const got = await loadRun(next);
      if (entry === next) show(got);
    } catch {
      if (entry !== next) return;
      say(status, w.failed);
      body.hidden = true;
    }
  }
  function show(got) {
    trace = got;
    chooser.open(trace);
    const at = openingPlace(trace);
    body.hidden = !at;
    say(status, at ? { first: w.greedy, dice: w.sameDice, u: "" }[decider(trace.rounds[at.r])] : w.none);
    if (at) draw(at.r, at.i);
  }
  function draw(r, i) {
    const places = positions(trace.rounds[r]), place = places.find((x) => x.i === i) ?? places[0];
    chooser.draw(r, places, place);
    context.replaceChildren(`${w.context} `, el("q", { text: tail(contextBefore(trace, r, place.table.after)), dir: "auto" }));
    const names = place.cats.map((c) => (c.others ? w.others : short(c.text, 14)));
    say(sentence, w.sentence(pair.draw(place.cats, names).overlap));
    dice.set(place.cats, names);
    root.dataset.round = r;
    root.dataset.position = place.i;
  }

  // Called when the tab comes into sight: the Watch tab may have another run by now.
  function refresh() {
    const live = liveRun(), entries = [...runs.filter((e) => e.tested > 0), ...(live ? [live] : [])];
    if (!entries.length) {
      say(status, w.noRuns);
      return;
    }
    const same = entries.find((e) => e.name === entry?.name && (e.name !== "live" || e.trace === trace));
    const first = same ?? entries.find((e) => e.temperature > 0 && e.accepted > 0) ?? entries[0];
    chips.draw(entries, first);
    if (!same) open(first);
  }
  return { root, refresh, stop: () => dice.stop() };
}
