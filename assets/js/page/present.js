// The presenter's view: large type, nothing but the player or the lesson, one key for a step (clickers send PageDown and PageUp).
import { el, say } from "./dom.js";

const CLASS = "ss-present";

export const presenting = () => document.documentElement.classList.contains(CLASS);

export function setPresent(on, changed = () => {}) {
  if (presenting() === on) return;
  document.documentElement.classList.toggle(CLASS, on);
  if (on) window.scrollTo(0, 0);   // what is shown begins at the top, wherever the button was
  changed(on);
}

// A button that leaves the view. Returns a function that names it: the language may change.
export function addLeave(changed) {
  const button = document.body.appendChild(el("button", { type: "button", class: "ss-leave", onclick: () => setPresent(false, changed) }));
  return (text) => say(button, text);
}

// Escape leaves; `changed(on)` also writes the address.
export function watchPresent(changed) {
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && presenting() && !document.querySelector("dialog[open]")) setPresent(false, changed);
  });
}
