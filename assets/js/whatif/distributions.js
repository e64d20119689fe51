// What other distributions would have done: p and q of the position as bars that can be pulled, and the temperature that made them.
import { createPair } from "../distributions/pair.js";
import { el, say } from "../page/dom.js";
import { ceiling } from "./sandbox.js";

const REACHED = 0.98;   // an overlap that is as good as all of p

// words: of the panel. change({p, q}) or change({temperature}) or change({reset: true}): what the reader did. live: whether a branch can be sent.
export function createDistributions(words, live, change) {
  const w = words.pair, t = words.temperature, pair = createPair(w, (p, q) => change({ p, q }));
  const overlapNote = el("p", { class: "ss-note ss-overlapline" });
  const reset = el("button", { type: "button", class: "ss-btn ss-wide", text: words.reset, onclick: () => change({ reset: true }) });
  const moved = () => change({ temperature: Number(heat.value) });
  const heat = el("input", { type: "range", class: "ss-heat", min: 0, max: 2, step: 0.05, "aria-label": t.title, oninput: moved });
  const heatValue = el("output", {}), heatNote = el("p", { class: "ss-note" });
  const root = el("section", { class: "ss-wdists" },
    el("div", { class: "ss-headrow" }, el("h3", { text: w.title }), reset),
    el("p", { class: "ss-sub", text: w.how }),
    pair.root,
    overlapNote,
    el("label", { class: "ss-heatrow" }, el("span", { text: t.title }), heat, heatValue),
    heatNote,
  );

  // known: how many tokens of the position have logits on record.
  function draw({ cats, overlap }, names, temperature, known) {
    const most = ceiling(cats);
    pair.draw(cats, names);
    say(overlapNote, [w.overlap(overlap), most < REACHED ? w.most(most) : ""].filter(Boolean).join(" "));
    heat.value = temperature;
    heat.disabled = !known;
    say(heatValue, t.value(temperature));
    say(heatNote, known ? [t.note(known), live ? t.live : ""].filter(Boolean).join(" ") : t.missing);
  }
  return { root, draw };
}
