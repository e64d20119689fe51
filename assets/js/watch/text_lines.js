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

// resized(): the width of the box has changed, so that its lines are others; all has to be drawn anew.
export function createLines(box, resized) {
  let blocks = [], tops = [0], places = [];   // tops: of the blocks, in pixels of the box; places: [first, last block] of each round
  let line = 40, uncut = true, width = "", seen = 0, height = 0, held = "";   // seen: the lowest pixel in sight; held: the blocks that flow
  const widthNow = () => `${box.clientWidth} ${getComputedStyle(box).font}`;

  function block() {
    const node = box.appendChild(el("span", { class: "ss-lines ss-held" }));
    blocks.push(node);
    return node;
  }
  function reset() {
    box.replaceChildren();
    blocks = [];
    tops = [0];
    places = [];
    held = "";
    uncut = true;
  }
  function group() {
    const made = createGroup();
    (blocks.at(-1) ?? block()).append(made.lead, made.node);
    return made;
  }

  // Cuts the text into blocks. groups: of all rounds, drawn as they ended, in one block. Those that were split have to be filled anew.
  function cut(groups) {
    width = widthNow();
    uncut = false;
    if (RTL.test(box.textContent)) return;
    const at = box.getBoundingClientRect(), zoom = at.height / box.offsetHeight, each = groups.map((g) => g.tokens());
    line = parseFloat(getComputedStyle(box).lineHeight) || 40;
    const spans = measure(each.flat()), starts = blockStarts(spans, LEAST * line * zoom);
    const measured = starts.map((k) => ((spans[k]?.[0] ?? at.top) - at.top) / zoom + box.scrollTop - line / 2);
    look();
    reset();
    uncut = false;
    tops = measured;
    distribute(groups, each, starts);
  }
  // Puts the groups into blocks that begin at these tokens, counted over all rounds.
  function distribute(groups, each, starts) {
    let k = 0, now = block();
    places = groups.map((g, r) => {
      const begins = k > 0 && starts.includes(k), gap = begins && !endsLine(each[r - 1].at(-1));
      const within = starts.filter((s) => s > k && s < k + each[r].length).map((s) => s - k);
      if (gap) now.append(g.lead);   // a space at which a line was broken stays at the end of that line: at the beginning it would be seen
      if (begins) now = block();
      now.append(gap ? "" : g.lead, g.node);
      const from = blocks.length - 1;
      for (const part of g.split(within)) {
        now = block();
        now.append(part);
      }
      k += each[r].length;
      return [from, blocks.length - 1];
    });
  }

  function look() {
    height = box.clientHeight;
    seen = box.scrollTop + height;
  }
  // Round r may change: its blocks, and those below that will be in sight, flow as text. If it is out of sight now, the box will be scrolled.
  function hold(r) {
    const [from, to] = places[r] ?? [0, 0], foot = tops[to + 1] ?? Infinity;
    if (tops[from] < seen - height) seen = tops[from] + height;
    else if (foot > seen) seen = Math.min(foot, tops[to] + height);
    const unseen = tops.findIndex((top, k) => k > to && top > seen + AHEAD * line), end = unseen < 0 ? tops.length : unseen;
    const now = `${from} ${end}`;
    if (now === held) return;
    held = now;
    blocks.forEach((node, k) => { node.className = k >= from && k < end ? "ss-lines ss-held" : "ss-lines"; });
  }
  // The box was scrolled.
  function see(r) {
    look();
    hold(r);
  }
  const check = () => { if (!uncut && box.clientWidth && widthNow() !== width) resized(); };
  const watch = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(check);
  watch?.observe(box);
  return { cut, hold, see, group, reset, get uncut() { return uncut && box.clientWidth > 0; }, destroy() { watch?.disconnect(); } };
}
