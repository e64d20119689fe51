// The tip below a token of the running text that the pointer or the keyboard is on. root: what it is placed in.
import { el } from "../page/dom.js";

export function createTip(root, box) {
  const tip = root.appendChild(el("div", { class: "ss-tip", role: "tooltip", hidden: true }));
  const hide = () => { tip.hidden = true; };
  function show(e) {
    const token = e.target.closest?.(".ss-tok");
    if (!token) {
      hide();
      return;
    }
    const ghost = e.target.closest?.(".ss-ghost[data-i]");   // a ghost has a text of its own
    tip.textContent = ghost ? ghost.dataset.label : token.getAttribute("aria-label");
    tip.dataset.kind = (ghost ?? token).dataset.kind;
    tip.hidden = false;
    const at = token.getClientRects()[0] ?? token.getBoundingClientRect(), within = root.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(at.left - within.left, within.width - tip.offsetWidth))}px`;
    tip.style.top = `${at.bottom - within.top + 8}px`;
  }
  box.addEventListener("mouseover", show);
  box.addEventListener("focusin", show);
  box.addEventListener("mouseleave", hide);
  box.addEventListener("focusout", hide);
  return { hide };
}
