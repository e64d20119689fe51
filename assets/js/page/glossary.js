// Terms in sentences: `[[residual]]` or `[[residual|another wording]]` becomes a term that shows its definition on hover, focus and tap.
// Only our own words go through here, never model text.
import { el } from "./dom.js";

let tip = null, owner = null;

// Pure: "a [[b|c]] d" -> ["a ", {key: "b", text: "c"}, " d"]
export function parts(sentence) {
  return sentence.split(/(\[\[[^\]]+\]\])/).filter(Boolean).map((piece) => {
    const found = /^\[\[([^|\]]+)(?:\|([^\]]+))?\]\]$/.exec(piece);
    return found ? { key: found[1], text: found[2] ?? found[1] } : piece;
  });
}

// The sentence without its marks.
export const plainText = (sentence) => parts(sentence).map((p) => p.text ?? p).join("");

function hide() {
  if (!tip) return;
  tip.hidden = true;
  owner?.removeAttribute("aria-describedby");
  owner = null;
}

function show(node, definition) {
  if (!tip) {
    tip = el("div", { class: "ss-definition", role: "tooltip", id: "ss-definition", hidden: true });
    document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
    window.addEventListener("scroll", hide, { passive: true });
  }
  if (tip.parentNode !== document.body) document.body.append(tip);
  tip.textContent = definition;
  tip.hidden = false;
  owner = node;
  node.setAttribute("aria-describedby", tip.id);
  const at = node.getClientRects()[0] ?? node.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const wide = document.documentElement.clientWidth, below = at.bottom + own.height + 12 < window.innerHeight;
  tip.style.left = `${Math.max(8, Math.min(at.left, wide - own.width - 8))}px`;
  tip.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - own.height - 6)}px`;
}

// One term; without a definition it stays text. glossary: {key: [name, definition]}.
function term(glossary, key, text = key) {
  const entry = glossary[key];
  if (!entry) return document.createTextNode(text);
  const node = el("dfn", { class: "ss-term", tabindex: "0", role: "term", text });
  const definition = `${entry[0]}: ${entry[1]}`;
  for (const event of ["mouseenter", "focus", "click"]) node.addEventListener(event, () => show(node, definition));
  for (const event of ["mouseleave", "blur"]) node.addEventListener(event, hide);
  return node;
}

// Nodes for a sentence with terms.
export const rich = (glossary, sentence) =>
  parts(sentence).map((p) => (typeof p === "string" ? document.createTextNode(p) : term(glossary, p.key, p.text)));

// A paragraph for a sentence with terms.
export const prose = (glossary, sentence, cls = null) => el("p", { class: cls }, ...rich(glossary, sentence));
