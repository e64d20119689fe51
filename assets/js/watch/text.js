// The running text, coloured by origin: past rounds as they ended, the current round as far as its step, later rounds faint.
import { el, rove, say } from "../page/dom.js";
import { runningText } from "../page/glyphs.js";
import { createLines } from "./text_lines.js";
import { createTip } from "./text_tip.js";
import { currentNodes, emittedNodes } from "./text_tokens.js";

// In pixels: the box's own padding above its first line, and what of it (or of the line before) stays in sight after a scroll.
const ABOVE = 14;
const EDGE = 8;

// The first line of the box to show, so that the lines first..end are in sight, moved as little as possible.
function lineToShow(first, end, shown, fit) {
  if (first < shown) return first;
  return end >= shown + fit ? Math.min(first, end - fit + 1) : shown;
}

class TextView {
  #groups = [];   // the spans of each round
  #last = null;   // the view that was drawn

  constructor(words, pick) {
    this.words = words;
    this.pick = pick;
    this.box = el("div", { class: "ss-text", role: "group", "aria-label": words.aria.text, dir: "auto" });
    this.given = el("p", { class: "ss-given", dir: "auto", hidden: true });
    this.root = el("div", { class: "ss-textwrap" }, this.given, this.box);
    this.tip = createTip(this.root, this.box);
    this.lines = createLines(this.box, () => this.#redraw());
    rove(this.box, ".ss-tok");
    this.#listen();
  }

  #listen() {
    this.box.addEventListener("click", (e) => this.#press(e));
    this.box.addEventListener("scroll", () => { if (this.#last) this.lines.see(this.#last.step.r); }, { passive: true });
    this.box.addEventListener("keydown", (e) => {
      if ((e.key !== "Enter" && e.key !== " ") || !e.target.closest(".ss-tok")) return;
      e.preventDefault();
      e.stopPropagation();
      this.#press(e);
    });
  }
  #press(e) {
    const token = e.target.closest?.(".ss-tok"), i = (e.target.closest?.(".ss-ghost[data-i]") ?? token)?.dataset.i;
    if (token) this.pick(Number(token.dataset.r), i === undefined ? null : Number(i));
  }

  // Another run.
  reset() {
    this.lines.reset();
    this.#groups = [];
  }
  // The width has changed: the lines are others now.
  #redraw() {
    this.reset();
    if (!this.#last) return;
    this.draw(this.#last);
    this.follow();
  }

  // Scrolls the box so that the current round is in sight, with whole lines at its top; the page itself never moves. The last act of a step,
  // since it measures.
  follow() {
    const { box } = this, node = this.#groups[this.#last?.step.r]?.node;
    if (box.scrollHeight <= box.clientHeight || !node) return;
    const a = node.getBoundingClientRect(), b = box.getBoundingClientRect(), zoom = b.height / box.offsetHeight;
    const size = parseFloat(getComputedStyle(box).lineHeight);
    const lineAt = (y) => Math.floor(((y - b.top) / zoom + box.scrollTop - ABOVE) / size);
    const shown = Math.max(0, Math.round((box.scrollTop - EDGE) / size)), fit = Math.max(1, Math.floor((box.clientHeight - ABOVE) / size));
    const to = lineToShow(lineAt(a.top + 14 * zoom), lineAt(a.bottom - 8 * zoom), shown, fit);
    if (to !== shown) box.scrollTop = to > 0 ? to * size + EDGE : 0;
    this.lines.see(this.#last.step.r);
  }

  // The spans of round r as they have to be at this step; only what has changed is made anew.
  #drawRound(rounds, r, step, state) {
    const round = rounds[r], now = state === "now", next = rounds[r + 1]?.emitted[0], followed = next?.kind === "recovered";
    const key = now ? `now/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}` : "settled";
    const group = (this.#groups[r] ??= this.lines.group());
    if (group.key !== key || group.round !== round || (group.followed !== followed && !now)) {
      const focused = group.tokens().indexOf(document.activeElement);
      const tokens = now ? currentNodes(r, round, step, this.words) : emittedNodes(r, round, round.emitted.length, true, next, this.words);
      group.fill(tokens, { whole: now, first: r === 0 });
      const haunted = now && tokens.some((t) => t.querySelector(".ss-ghost"));
      Object.assign(group, { key, round, followed, haunted, state: "" });
      if (focused >= 0) tokens[Math.min(focused, tokens.length - 1)]?.focus();
    }
    if (group.state !== state) group.show(`ss-${state}${group.haunted ? " ss-haunted" : ""}`);
    group.state = state;
  }

  // view: {trace, step}.
  draw(view) {
    const { trace, step } = view, { rounds } = trace, { box, lines } = this, cut = Boolean(trace.totals) && lines.uncut;
    if (this.#last?.step !== step) this.tip.hide();   // the token above it may have moved
    this.#last = view;
    this.given.hidden = !trace.branch?.text;
    if (trace.branch) say(this.given, `${this.words.given} ${runningText(trace.branch.text)}`);
    if (this.#groups.length > rounds.length) this.reset();
    // A text is cut into lines as it is at the end, with no round "now".
    const stateOf = (r) => (r < step.r || (cut && r === step.r) ? "past" : r > step.r ? "future" : "now");
    rounds.forEach((_, r) => this.#drawRound(rounds, r, step, stateOf(r)));
    if (cut) {
      lines.cut(this.#groups);
      this.draw(view);
      return;
    }
    lines.hold(step.r);
    if (!box.querySelector('.ss-tok[tabindex="0"]')) box.querySelector(".ss-tok")?.setAttribute("tabindex", "0");
  }

  // Singles out the tokens of these kinds; all of them for an empty list.
  only(kinds) {
    if (kinds.length) this.box.dataset.only = kinds.join(" ");
    else delete this.box.dataset.only;
  }

  destroy() {
    this.lines.destroy();
  }
}

// pick(r, i): a token of round r was pressed; i: which drafted token it is, or null.
export const createTextView = (words, pick) => new TextView(words, pick);
