// The seam between Gradio and the tabs that explain: what the server gives comes in as props, one event goes out (measure).
import { mountFaster } from "../faster/tab.js";
import { language, onLanguage } from "./gradio.js";
import { wordsFor } from "../words/languages.js";
import { mountLossless } from "../lossless/tab.js";
import { mountMethods } from "../methods/tab.js";

const MOUNTS = { lossless: mountLossless, faster: mountFaster, methods: mountMethods };

export function gradioExplain(element, props, watch, trigger) {
  document.documentElement.classList.add("ss-host");
  const root = element.querySelector(".ss-mount"), kind = Object.hasOwn(MOUNTS, props.kind) ? props.kind : "lossless";
  let view = null, seen = false;
  // The value outlives a change of language: what this machine measured stays.
  function draw(words) {
    view?.hide?.();
    const { runs, order, sizes, tuned } = props;
    view = MOUNTS[kind](root, { runs, order, sizes, tuned, words: words[kind], measure: () => trigger("submit") });
    view.update?.(props.value ?? "");
    if (seen) view.refresh?.();
  }
  // Which run stands in Watch is looked up when the tab comes into sight; what is animated stops when it goes.
  const look = () => {
    const now = root.offsetParent !== null;
    if (now !== seen) { seen = now; if (now) view.refresh?.(); else view.hide?.(); }
  };
  draw(wordsFor(language()));
  watch("value", () => view.update?.(props.value ?? ""));
  onLanguage(draw);
  new ResizeObserver(look).observe(root);
  look();
}
