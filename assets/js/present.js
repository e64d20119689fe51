// The presenter's view: large type, nothing but the player or the lesson, one key a step (clickers send PageDown and PageUp).
const CLASS = "ss-present";

export const presenting = () => document.documentElement.classList.contains(CLASS);

export function setPresent(on, changed = () => {}) {
  if (presenting() === on) return;
  document.documentElement.classList.toggle(CLASS, on);
  changed(on);
}

// Escape leaves; `changed(on)` also writes the address.
export function watchPresent(changed) {
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && presenting() && !document.querySelector("dialog[open]")) setPresent(false, changed);
  });
}
