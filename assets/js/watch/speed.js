// How fast to play: at a pace to read along, or at the recorded speed and multiples of it, named apart.
import { PACES, SPEEDS } from "./clock.js";
import { el } from "../page/dom.js";
import { upTo } from "../page/numbers.js";

// words: controls of a language. set({pace} or {speed}).
export function createSpeed(words, set) {
  const group = (label, kind, list, text) => el("optgroup", { label }, ...list.map((x) => el("option", { value: `${kind}:${x}`, text: text(x) })));
  const root = el(
    "select",
    {
      class: "ss-speed",
      "aria-label": words.speed,
      title: words.speed,
      onchange: () => {
        const [kind, x] = root.value.split(":");
        set({ [kind]: Number(x) });
      },
    },
    group(words.toRead, "pace", PACES, words.pace),
    group(words.recorded, "speed", SPEEDS, (x) => `${upTo(x, 2)}×`),
  );
  return root;
}
