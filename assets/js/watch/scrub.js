// The scrub bar is a chart: a bar for each round, its height the tokens that it emitted, its segments their origin.
import { el, set } from "../page/dom.js";

const COLOUR = { accepted: "var(--ss-acc)", recovered: "var(--ss-res)", bonus: "var(--ss-bon)", plain: "var(--ss-dis)" };

// Pure: equal segments, one upon the other, as one CSS gradient.
export function stack(kinds) {
  const at = (i) => `${((100 * i) / kinds.length).toFixed(2)}%`;
  const segments = kinds.map((kind, i) => `${COLOUR[kind]} ${at(i)} ${at(i + 1)}`);
  return `linear-gradient(to top, ${segments.join(", ") || "transparent 0 100%"})`;
}

export function createScrub(words, onRound) {
  const bars = el("div", { class: "ss-ticks" });
  const root = el("div", { class: "ss-scrub", role: "slider", tabindex: "0", "aria-label": words.controls.scrub, "aria-valuemin": "0" }, bars);
  let drawn = [], at = -1;   // at: the round that was drawn last
  // The round below the pointer.
  const under = (e) => {
    const box = bars.getBoundingClientRect();
    const x = getComputedStyle(bars).direction === "rtl" ? box.right - e.clientX : e.clientX - box.left;
    return Math.max(0, Math.min(drawn.length - 1, Math.floor((x / box.width) * drawn.length)));
  };
  root.addEventListener("pointerdown", (e) => {
    if (!drawn.length) return;
    root.setPointerCapture(e.pointerId);
    onRound(under(e));
  });
  root.addEventListener("pointermove", (e) => { if (root.hasPointerCapture(e.pointerId)) onRound(under(e)); });

  function drawRun({ rounds }) {
    if (drawn.length > rounds.length || drawn.some((d, i) => d.round !== rounds[i])) {
      bars.replaceChildren();
      drawn = [];
      at = -1;
    }
    for (let r = drawn.length; r < rounds.length; r++) {
      const node = bars.appendChild(el("i", { title: words.bar(r, rounds[r]), class: "ss-later" }));
      node.style.setProperty("--stack", stack(rounds[r].emitted.map((e) => e.kind)));
      drawn.push({ round: rounds[r], node });
    }
    const most = Math.max(1, ...rounds.map((r) => r.emitted.length));
    for (const { node, round } of drawn) node.style.height = `${Math.max(8, (100 * round.emitted.length) / most)}%`;
    root.classList.toggle("ss-dense", rounds.length > 70);
    set(root, { "aria-valuemax": rounds.length - 1 });
  }
  function draw({ trace, step }) {
    if (at !== step.r) {   // only the bars between the two places change
      for (let r = Math.max(0, Math.min(at, step.r)); r <= Math.max(at, step.r); r++) {
        drawn[r].node.className = r === step.r ? "ss-cur" : r > step.r ? "ss-later" : "";
      }
      at = step.r;
    }
    set(root, { "aria-valuenow": step.r, "aria-valuetext": words.bar(step.r, trace.rounds[step.r]) });
  }
  return { root, drawRun, draw };
}
