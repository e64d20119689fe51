// Connects Gradio with the tabs that explain: what the server knows comes in as props, one event goes out (measure this machine).
import { mountFaster } from "../faster/tab.js";
import { mountLossless } from "../lossless/tab.js";
import { mountMethods } from "../methods/tab.js";
import { onLanguage, words } from "./language.js";

const MOUNTS = { lossless: mountLossless, faster: mountFaster, methods: mountMethods };

export function gradioExplain(element, props, watch, trigger) {
  document.documentElement.classList.add("ss-host");
  const root = element.querySelector(".ss-mount"), kind = Object.hasOwn(MOUNTS, props.kind) ? props.kind : "lossless";
  let view = null, seen = false;
  // The value outlives a change of language: what was measured on this machine stays.
  function draw() {
    view?.hide?.();
    const { runs, order, sizes, tuned } = props;
    view = MOUNTS[kind](root, { runs, order, sizes, tuned, words: words()[kind], measure: () => trigger("submit") });
    view.update?.(props.value ?? "");
    if (seen) view.refresh?.();
  }
  // When the tab comes into sight, the run of the Watch tab is looked up; when it goes, what is animated stops.
  function look() {
    const now = root.offsetParent !== null;
    if (now === seen) return;
    seen = now;
    if (now) view.refresh?.();
    else view.hide?.();
  }
  draw();
  watch("value", () => view.update?.(props.value ?? ""));
  onLanguage(draw);
  new ResizeObserver(look).observe(root);
  look();
}
