// How fast to play: at a pace to read along, or at multiples of the recorded speed.
import { PACES, SPEEDS } from "./clock.js";
import { el } from "../page/dom.js";
import { upTo } from "../page/numbers.js";

// words: those of the controls. set({pace}) or set({speed}): one was chosen.
export function createSpeed(words, set) {
  const group = (label, kind, list, text) => el("optgroup", { label }, ...list.map((x) => el("option", { value: `${kind}:${x}`, text: text(x) })));
  const choose = () => {
    const [kind, x] = root.value.split(":");
    set({ [kind]: Number(x) });
  };
  const root = el("select", { class: "ss-speed", "aria-label": words.speed, title: words.speed, onchange: choose },
    group(words.toRead, "pace", PACES, words.pace),
    group(words.recorded, "speed", SPEEDS, (x) => `${upTo(x, 2)}×`),
  );
  return root;
}
