// The seam between Gradio and the tabs that explain: what the server gives comes in as props, one event goes out (measure).
import { mountFaster } from "./faster.js";
import { mountLossless } from "./lossless.js";
import { mountMethods } from "./methods.js";

const MOUNTS = { lossless: mountLossless, faster: mountFaster, methods: mountMethods };

// `refresh` when the tab comes into sight, `hide` when it goes.
function whenSeen(root, view) {
  let seen = false;
  const look = () => {
    const now = root.offsetParent !== null;
    if (now !== seen) { seen = now; if (now) view.refresh?.(); else view.hide?.(); }
  };
  new ResizeObserver(look).observe(root);
  look();
}

export function gradioExplain(element, props, watch, trigger) {
  document.documentElement.classList.add("ss-host");
  const root = element.querySelector(".ss-mount"), kind = Object.hasOwn(MOUNTS, props.kind) ? props.kind : "lossless";
  const view = MOUNTS[kind](root, { runs: props.runs, sizes: props.sizes, measure: () => trigger("submit") });
  if (view.update) { watch("value", () => view.update(props.value ?? "")); view.update(props.value ?? ""); }
  whenSeen(root, view);
  return view;
}
