// The running text in blocks of whole lines. A step changes a few words of one round, but in one piece the browser would lay out and paint
// all tokens anew. Therefore only the block of that round, and the blocks below it that are in sight, flow as text; the others are isolated.
import { el } from "../page/dom.js";

const LEAST = 2;   // lines of a block
const AHEAD = 1;   // lines below the box's lower edge that still flow: the last of them may end early, out of sight
const RTL = /[\u0590-\u08ff\ufb1d-\ufefc]/;   // not cut: each block would find a direction of its own

// Pure: the indices of the items that begin a block. spans: [top of its first line, top of its last line] of each item in pixels, or null
// where it shows nothing. least: the least height of a block.
export function blockStarts(spans, least) {
  const starts = [0];
  let from = spans.find(Boolean)?.[0] ?? 0, before = from;
  spans.forEach((span, k) => {
    if (!span) return;
    if (k > 0 && span[0] > before + 8 && span[0] - from >= least - 8) {
      starts.push(k);
      from = span[0];
    }
    before = span[1];
  });
  return starts;
}

const endsLine = (token) => Boolean(token?.textContent.endsWith("\n"));

// The text node of the space before a token, or null.
function spaceOf(token) {
  const first = token?.firstChild;
  return first instanceof Text && token.childNodes.length > 1 && !first.data.trim() ? first : null;
}

// The tokens of one round: a span, and a further span in each block that begins within the round. at: the tokens with which the spans begin.
function createGroup() {
  const lead = document.createTextNode(""), parts = [el("span", { class: "ss-group" })];
  let at = [0];
  const group = { lead, node: parts[0], round: null, key: "", tokens: () => parts.flatMap((part) => [...part.children]), show, fill, split };

  function show(state) {
    for (const part of parts) part.className = `ss-group ${part.firstChild ? state : ""}`;
  }
  // whole: the round is being shown step by step, and all its tokens flow in the first span.
  function fill(tokens, { whole, first }) {
    parts.forEach((part, k) => {
      part.replaceChildren(...(whole ? (k ? [] : tokens) : tokens.slice(at[k], at[k + 1])));
      if (k && !whole && !endsLine(tokens[at[k] - 1])) parts[k - 1].append(spaceOf(tokens[at[k]]) ?? "");
    });
    const gap = spaceOf(tokens[0]);   // the first space stays outside the outline of the round: a line may end there
    lead.data = gap && !first ? gap.data : "";
    gap?.remove();
  }
  // Further spans that begin with these tokens -> the new spans. The group has to be filled anew.
  function split(places) {
    at = [0, ...places];
    if (places.length) group.key = "";
    parts.push(...places.map(() => el("span", { class: "ss-group" })));
    return parts.slice(1);
  }
  return group;
}

// Where each token stands: the middles of its first and its last line, or null.
function measure(tokens) {
  const middle = (rect) => (rect.top + rect.bottom) / 2;
  return tokens.map((token) => {
    const rects = token.querySelector(".ss-mark").getClientRects();
    return rects.length ? [middle(rects[0]), middle(rects[rects.length - 1])] : null;
  });
}

class Lines {
  #blocks = [];
  #tops = [0];     // where the blocks begin, in pixels of the box
  #places = [];    // [first, last block] of each round
  #line = 40;      // the height of a line
  #uncut = true;
  #width = "";     // for which the text was cut
  #seen = 0;       // the lowest pixel in sight
  #height = 0;     // of the box
  #held = "";      // the blocks that flow

  constructor(box, resized) {
    this.box = box;
    const check = () => { if (!this.#uncut && box.clientWidth && this.#widthNow() !== this.#width) resized(); };
    this.watch = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(check);
    this.watch?.observe(box);
  }

  get uncut() { return this.#uncut && this.box.clientWidth > 0; }

  #widthNow() {
    return `${this.box.clientWidth} ${getComputedStyle(this.box).font}`;
  }
  #block() {
    const node = this.box.appendChild(el("span", { class: "ss-lines ss-held" }));
    this.#blocks.push(node);
    return node;
  }

  reset() {
    this.box.replaceChildren();
    this.#blocks = [];
    this.#tops = [0];
    this.#places = [];
    this.#held = "";
    this.#uncut = true;
  }

  // A new group at the end of the text.
  group() {
    const made = createGroup();
    (this.#blocks.at(-1) ?? this.#block()).append(made.lead, made.node);
    return made;
  }

  // Cuts the text into blocks. groups: of all rounds, drawn as they ended, in one block. Those that were split have to be filled anew.
  cut(groups) {
    const { box } = this;
    this.#width = this.#widthNow();
    this.#uncut = false;
    if (RTL.test(box.textContent)) return;
    const at = box.getBoundingClientRect(), zoom = at.height / box.offsetHeight, each = groups.map((g) => g.tokens());
    this.#line = parseFloat(getComputedStyle(box).lineHeight) || 40;
    const spans = measure(each.flat()), starts = blockStarts(spans, LEAST * this.#line * zoom);
    const tops = starts.map((k) => ((spans[k]?.[0] ?? at.top) - at.top) / zoom + box.scrollTop - this.#line / 2);
    this.#look();
    this.reset();
    this.#uncut = false;
    this.#tops = tops;
    this.#distribute(groups, each, starts);
  }
  // Puts the groups into blocks that begin at these tokens, counted over all rounds.
  #distribute(groups, each, starts) {
    let k = 0, now = this.#block();
    this.#places = groups.map((g, r) => {
      const begins = k > 0 && starts.includes(k), gap = begins && !endsLine(each[r - 1].at(-1));
      const within = starts.filter((s) => s > k && s < k + each[r].length).map((s) => s - k);
      if (gap) now.append(g.lead);   // a space at which a line was broken stays at the end of that line: at the beginning it would be seen
      if (begins) now = this.#block();
      now.append(gap ? "" : g.lead, g.node);
      const from = this.#blocks.length - 1;
      for (const part of g.split(within)) {
        now = this.#block();
        now.append(part);
      }
      k += each[r].length;
      return [from, this.#blocks.length - 1];
    });
  }

  #look() {
    this.#height = this.box.clientHeight;
    this.#seen = this.box.scrollTop + this.#height;
  }
  // Round r may change: its blocks, and those below that will be in sight, flow as text. If it is out of sight now, the box will be scrolled.
  hold(r) {
    const tops = this.#tops, [from, to] = this.#places[r] ?? [0, 0], foot = tops[to + 1] ?? Infinity;
    if (tops[from] < this.#seen - this.#height) this.#seen = tops[from] + this.#height;
    else if (foot > this.#seen) this.#seen = Math.min(foot, tops[to] + this.#height);
    const unseen = tops.findIndex((top, k) => k > to && top > this.#seen + AHEAD * this.#line), end = unseen < 0 ? tops.length : unseen;
    const now = `${from} ${end}`;
    if (now === this.#held) return;
    this.#held = now;
    this.#blocks.forEach((node, k) => { node.className = k >= from && k < end ? "ss-lines ss-held" : "ss-lines"; });
  }
  // The box was scrolled.
  see(r) {
    this.#look();
    this.hold(r);
  }

  destroy() {
    this.watch?.disconnect();
  }
}

// resized(): the width of the box has changed, so that its lines are others; all has to be drawn anew.
export const createLines = (box, resized) => new Lines(box, resized);
