// The scrub bar is a chart: one bar a round, its height the tokens it emitted, its segments their origin.
import { el, set } from "./dom.js";

const COLOUR = { accepted: "var(--ss-acc)", recovered: "var(--ss-res)", bonus: "var(--ss-bon)", plain: "var(--ss-dis)" };

// Pure: a stack of equal segments, bottom first, as one CSS gradient.
export function stack(kinds) {
  const n = kinds.length || 1;
  return `linear-gradient(to top, ${kinds.map((k, i) => `${COLOUR[k]} ${((100 * i) / n).toFixed(2)}% ${((100 * (i + 1)) / n).toFixed(2)}%`).join(", ") || "transparent 0 100%"})`;
}

export function createScrub(words, onRound) {
  const bars = el("div", { class: "ss-ticks" });
  const root = el("div", { class: "ss-scrub", role: "slider", tabindex: "0", "aria-label": words.controls.scrub, "aria-valuemin": "0" }, bars);
  let drawn = [];
  const at = (e) => {
    const box = bars.getBoundingClientRect();
    const x = getComputedStyle(bars).direction === "rtl" ? box.right - e.clientX : e.clientX - box.left;
    return Math.max(0, Math.min(drawn.length - 1, Math.floor((x / box.width) * drawn.length)));
  };
  root.addEventListener("pointerdown", (e) => { if (drawn.length) { root.setPointerCapture(e.pointerId); onRound(at(e)); } });
  root.addEventListener("pointermove", (e) => { if (root.hasPointerCapture(e.pointerId)) onRound(at(e)); });

  function draw({ trace, step }) {
    const { rounds } = trace;
    if (drawn.length > rounds.length || drawn.some((d, i) => d.round !== rounds[i])) { bars.replaceChildren(); drawn = []; }
    const most = Math.max(1, ...rounds.map((r) => r.emitted.length));
    for (let r = drawn.length; r < rounds.length; r++) {
      const node = bars.appendChild(el("i", { title: words.bar(r, rounds[r]) }));
      node.style.setProperty("--stack", stack(rounds[r].emitted.map((e) => e.kind)));
      drawn.push({ round: rounds[r], node });
    }
    drawn.forEach(({ node, round }, r) => {
      node.style.height = `${Math.max(8, (100 * round.emitted.length) / most)}%`;
      const cls = r === step.r ? "ss-cur" : r > step.r ? "ss-later" : "";
      if (node.className !== cls) node.className = cls;
    });
    root.classList.toggle("ss-dense", rounds.length > 70);
    set(root, { "aria-valuemax": rounds.length - 1, "aria-valuenow": step.r, "aria-valuetext": words.bar(step.r, rounds[step.r]) });
  }
  return { root, draw };
}
