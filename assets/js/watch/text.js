// The running text, coloured by origin: past rounds settled, the current round as far as its step, the future faint.
import { el, rove, say } from "../page/dom.js";
import { pieces, runningText, short } from "../page/glyphs.js";
import { draftStates, emittedAt } from "../trace/steps.js";
import { createLines } from "./text_lines.js";
import { isTree } from "../trace/trace.js";

const GHOST_CHARS = 22;
const ABOVE = 14, EDGE = 8;   // pixels of the box's own above its first line, and what of it (or of the line before) is left in sight after a scroll
const CLOSING = /^[.,;:!?)\]}'’”"…%]/;   // never at the beginning of a line
const WORD = 8.6;
const GHOST = 6.95;
const OVER = 22;   // about a character of the text and of a ghost, and how far a ghost may stand out over what follows, in pixels

// Pure: to how many characters a rejected word is cut over a word of `base` characters. A wide ghost would tear a hole into the line, or
// stand out too far where what follows has none of its own (`free`); the card and the tip have the whole word.
export const fitGhost = (base, free) => Math.max(5, Math.floor((base * WORD + (free ? OVER : 9)) / GHOST));

export function createTextView(words, onPick) {
  const tip = el("div", { class: "ss-tip", role: "tooltip", hidden: true });
  const box = el("div", { class: "ss-text", role: "group", "aria-label": words.aria.text, dir: "auto" });
  const given = el("p", { class: "ss-given", dir: "auto", hidden: true });
  const root = el("div", { class: "ss-textwrap" }, given, box, tip);
  let groups = [], last = null;
  const lines = createLines(box, () => { clear(); if (last) { draw(last); follow(); } });
  function clear() { lines.reset(); groups = []; }
  rove(box, ".ss-tok");

  const pick = (e) => {
    const t = e.target.closest?.(".ss-tok"), i = (e.target.closest?.(".ss-ghost[data-i]") ?? t)?.dataset.i;
    if (t) onPick(Number(t.dataset.r), i === undefined ? null : Number(i));
  };
  box.addEventListener("click", pick);
  box.addEventListener("scroll", () => { if (last) lines.see(last.step.r); }, { passive: true });
  box.addEventListener("keydown", (e) => {
    if ((e.key === "Enter" || e.key === " ") && e.target.closest(".ss-tok")) { e.preventDefault(); e.stopPropagation(); pick(e); }
  });
  const show = (e) => {
    const t = e.target.closest?.(".ss-tok");
    if (!t) return hide();
    const ghost = e.target.closest?.(".ss-ghost[data-i]");   // a struck word over its replacement speaks for itself
    tip.textContent = ghost ? ghost.dataset.label : t.getAttribute("aria-label");
    tip.dataset.kind = (ghost ?? t).dataset.kind;
    tip.hidden = false;
    const a = t.getClientRects()[0] ?? t.getBoundingClientRect(), b = root.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(a.left - b.left, b.width - tip.offsetWidth))}px`;
    tip.style.top = `${a.bottom - b.top + 8}px`;
  };
  const hide = () => { tip.hidden = true; };
  box.addEventListener("mouseover", show);
  box.addEventListener("focusin", show);
  box.addEventListener("mouseleave", hide);
  box.addEventListener("focusout", hide);

  // places: which drafts of its round the ghosts are.
  function token(r, text, kind, label, i, ghosts = [], free = true, places = []) {
    const { lead, body, breaks } = pieces(text);
    const mark = el("span", { class: "ss-mark", text: body });
    let inner = mark;
    if (ghosts.length) {
      const rt = el("rt", { "aria-hidden": "true" });   // replaced by a span where it may stand out
      let room = GHOST_CHARS;
      const base = Array.from(body).length;
      const over = free && ghosts.length === 1 && base <= 20;
      const keep = ghosts.length === 1 ? Math.min(16, fitGhost(base, over)) : 16;
      ghosts.forEach((g, k) => {
        const text = short(g.text.trim() || g.text, keep);
        if (room < 0) return;
        room -= text.length + 1;
        const more = room < 0 && k > 0;   // the cards name every draft; above the line the first few are enough
        rt.append(
          el("span", {
            class: "ss-ghost",
            "data-kind": g.verdict,
            ...(more ? { text: `+${ghosts.length - k}` } : { text, "data-i": places[k], "data-label": words.tokenLabel(g.text, g.verdict, g) }),
          }),
        );
        if (more) room = -1;
      });
      inner = over
        ? el("span", { class: "ss-over" }, mark, el("span", { class: "ss-ghosts", "aria-hidden": "true" }, ...rt.childNodes))
        : el("ruby", { class: base <= 20 ? "ss-short" : null }, mark, rt);   // a short word never breaks
    }
    const attrs = {
      class: "ss-tok",
      role: "button",
      tabindex: "-1",
      "data-kind": kind,
      "data-r": r,
      "data-i": i,
      "aria-label": label,
      "data-joined": !lead && CLOSING.test(body),
    };
    return el("span", attrs, lead, inner, breaks);
  }

  function emitted(r, round, upto, past, next = null) {
    const out = [], chain = !isTree(round), kept = round.drafted.map((d, i) => (d.verdict === "accepted" ? i : -1)).filter((i) => i >= 0);
    round.emitted.slice(0, upto).forEach((e, j) => {
      const i = e.kind === "accepted" ? kept[j] : undefined;
      const d = i === undefined ? null : round.drafted[i];
      let ghosts = [];
      if (e.kind === "recovered") {
        const refused = round.drafted.filter((x) => x.verdict === "rejected");
        ghosts = chain ? refused.concat(past ? [] : round.drafted.filter((x) => x.verdict === "not_reached")) : refused.slice(-1);
      }
      const [, why] = words.settled(e.kind, round.drafted[0]?.u === null);
      out.push(
        token(
          r,
          e.text,
          e.kind,
          words.tokenLabel(e.text, e.kind, d, why),
          i,
          ghosts,
          Boolean(past && next) && next.kind !== "recovered",
          ghosts.map((g) => round.drafted.indexOf(g)),
        ),
      );
    });
    return out;
  }

  function current(r, round, step) {
    if (step.phase === "settle" || isTree(round)) return emitted(r, round, emittedAt(round, step), false);
    return draftStates(round, step).flatMap((state, i) => {
      if (state === "hidden") return [];
      const d = round.drafted[i];
      const label = ["pending", "lit"].includes(state) ? `${short(d.text, 40)}: ${words.kind[state]}` : words.tokenLabel(d.text, state, d);
      return [token(r, d.text, state, label, i)];
    });
  }

  // Keep the current round in sight inside the box, whole lines at its top; the page itself never moves. Called last of a step: it measures.
  function follow() {
    const node = groups[last?.step.r]?.node;
    if (box.scrollHeight <= box.clientHeight || !node) return;
    const a = node.getBoundingClientRect();
    const b = box.getBoundingClientRect();
    const zoom = b.height / box.offsetHeight;
    const size = parseFloat(getComputedStyle(box).lineHeight);
    const lineAt = (y) => Math.floor(((y - b.top) / zoom + box.scrollTop - ABOVE) / size);
    const first = lineAt(a.top + 14 * zoom);
    const end = lineAt(a.bottom - 8 * zoom);
    const shown = Math.max(0, Math.round((box.scrollTop - EDGE) / size));
    const fit = Math.max(1, Math.floor((box.clientHeight - ABOVE) / size));
    const to = first < shown ? first : end >= shown + fit ? Math.min(first, end - fit + 1) : shown;
    if (to !== shown) box.scrollTop = to > 0 ? to * size + EDGE : 0;
    lines.see(last.step.r);
  }

  function draw(view) {
    const { trace, step } = view, { rounds } = trace, cut = Boolean(trace.totals) && lines.uncut;
    if (last?.step !== step) hide();   // the token under it may have moved
    last = view;
    given.hidden = !trace.branch?.text;
    if (trace.branch) say(given, `${words.given} ${runningText(trace.branch.text)}`);
    if (groups.length > rounds.length) clear();
    rounds.forEach((round, r) => {
      const state = r < step.r || (cut && r === step.r) ? "past" : r > step.r ? "future" : "now";   // lines are cut where all is settled
      const whole = state === "now", key = whole ? `now/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}` : "settled";
      const g = groups[r] ?? lines.group(), after = rounds[r + 1]?.emitted[0]?.kind === "recovered";
      groups[r] = g;
      if (g.key !== key || g.round !== round || (g.after !== after && !whole)) {
        const focused = g.tokens().indexOf(document.activeElement);
        const tokens = whole ? current(r, round, step) : emitted(r, round, round.emitted.length, true, rounds[r + 1]?.emitted[0]);
        g.fill(tokens, { whole, first: r === 0 });
        Object.assign(g, { key, round, after, haunted: whole && tokens.some((t) => t.querySelector(".ss-ghost")), state: "" });
        if (focused >= 0) tokens[Math.min(focused, tokens.length - 1)]?.focus();
      }
      if (g.state !== state) g.show(`ss-${state}${g.haunted ? " ss-haunted" : ""}`);
      g.state = state;
    });
    if (cut) { lines.cut(groups); draw(view); return; }
    lines.hold(step.r);
    if (!box.querySelector('.ss-tok[tabindex="0"]')) box.querySelector(".ss-tok")?.setAttribute("tabindex", "0");
  }
  function only(kinds) {
    if (kinds.length) box.dataset.only = kinds.join(" ");
    else delete box.dataset.only;
  }
  return { root, draw, follow, only, reset: clear, destroy: lines.destroy };
}
