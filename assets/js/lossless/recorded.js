// The same experiment where two real laws met: a round and a position of a recorded run.
import { contextBefore } from "../distributions/bars.js";
import { el, rove, say } from "../page/dom.js";
import { createDice } from "./dice.js";
import { createLaws } from "../distributions/pair.js";
import { fromTable } from "../distributions/acceptance.js";
import { short, tail } from "../page/glyphs.js";
import { createRunChips, liveRun, loadRun } from "../trace/runs.js";
import { offered, tableFor } from "../trace/steps.js";

// Pure: the drafted tokens of a round that stand alone at their place (no siblings in a tree) and have both laws on record, with their categories.
export function positions(round) {
  return round.drafted
    .map((d, i) => ({ i, d, table: tableFor(round, i) }))
    .map((x) => ({ ...x, cats: x.table ? fromTable(x.table) : null }))
    .filter((x) => x.cats && offered(round, x.d.parent).length === 1);
}

// Pure: the place to begin with: a tested token where the laws overlap about half way, so that there is something to see.
export function openingPlace(trace) {
  let best = null;
  trace.rounds.forEach((round, r) => {
    for (const x of positions(round)) {
      if (x.d.verdict === "not_reached") continue;
      const off = Math.abs((x.table.overlap ?? 0) - 0.5) - 0.002 * x.cats.length;
      if (!best || off < best.off - 1e-9) best = { r, i: x.i, off };
    }
  });
  return best;
}

export function createReal(words, runs) {
  const w = words.real, status = el("p", { class: "ss-sub", role: "status" }), context = el("h3", {}), chosen = el("p", { class: "ss-note" });
  const laws = createLaws({ ...words, head: w.head });
  const dice = createDice(words, w.broken);
  const chips = createRunChips(w.run, (e) => (e.name === "live" ? w.live : w.name(e)), open);
  const slider = el("input", { type: "range", min: 1, step: 1, class: "ss-range", "aria-label": w.round });
  const where = el("span", { class: "ss-where2" });
  const tokens = el("div", { class: "ss-tokens", role: "group", "aria-label": w.position });
  const body = el("div", { hidden: true },
    el("div", { class: "ss-controlrow ss-roundrow" }, el("span", { class: "ss-label", text: w.round }), slider, where),
    el("span", { class: "ss-label", text: w.position }),
    tokens,
    context,
    laws.root,
    chosen,
    dice.root,
  );
  const root = el("section", { class: "ss-panel" },
    el("h2", { text: w.title }),
    el("p", { class: "ss-lead", text: w.lead }),
    chips.root,
    status,
    body,
  );
  let entry = null, trace = null, drafting = [], r = 0, i = 0;
  rove(tokens, "button");
  slider.addEventListener("input", () => {
    r = drafting[Number(slider.value) - 1];
    i = positions(trace.rounds[r]).find((x) => x.d.verdict !== "accepted")?.i ?? 0;
    draw();
  });

  async function open(next) {
    entry = next;
    say(status, w.loading);
    try {
      const got = await loadRun(next);
      if (entry !== next) return;
      trace = got;
      drafting = trace.rounds.map((_, k) => k).filter((k) => positions(trace.rounds[k]).length);
      const at = openingPlace(trace);
      body.hidden = !at;
      say(status, at ? (trace.rounds[at.r].drafted[0]?.u === null ? w.greedy : "") : w.none);
      if (!at) return;
      ({ r, i } = at);
      slider.max = drafting.length;
      draw();
    } catch {
      if (entry === next) { say(status, w.failed); body.hidden = true; }
    }
  }

  function draw() {
    const round = trace.rounds[r], places = positions(round), place = places.find((x) => x.i === i) ?? places[0];
    slider.value = drafting.indexOf(r) + 1;
    slider.setAttribute("aria-valuetext", w.choose(r, trace.rounds.length - 1));
    say(where, w.choose(r, trace.rounds.length - 1));
    tokens.replaceChildren(
      ...places.map((x) =>
        el(
          "button",
          {
            type: "button",
            class: "ss-tokenbtn",
            "data-kind": x.d.verdict,
            "aria-pressed": String(x === place),
            tabindex: x === place ? "0" : "-1",
            "aria-label": w.positionLabel(short(x.d.text, 40), w.verdict[x.d.verdict]),
            onclick: () => {
              i = x.i;
              draw();
              tokens.querySelector('[aria-pressed="true"]').focus();
            },
          },
          el("code", { text: short(x.d.text, 14), dir: "auto" }),
          el("small", { text: w.verdict[x.d.verdict] }),
        ),
      ),
    );
    context.replaceChildren(`${w.context} `, el("q", { text: tail(contextBefore(trace, r, place.table.after)), dir: "auto" }));
    const names = place.cats.map((c) => (c.others ? w.others : short(c.text, 14)));
    const id = laws.draw(place.cats, names);
    say(chosen, w.sentence(id.overlap));
    dice.set(place.cats, names);
    root.dataset.round = r;
    root.dataset.position = place.i;
  }

  // Called when the tab comes into sight: the run in Watch may be another one by now.
  function refresh() {
    const live = liveRun(), entries = [...runs.filter((e) => e.tested > 0), ...(live ? [live] : [])];
    if (!entries.length) { say(status, w.noRuns); return; }
    const keep = entries.find((e) => e.name === entry?.name && (e.name !== "live" || e.trace === trace));
    const first = keep ?? entries.find((e) => e.temperature > 0 && e.accepted > 0) ?? entries[0];
    chips.draw(entries, first);
    if (!keep) open(first);
  }
  return { root, refresh, stop: dice.stop };
}
