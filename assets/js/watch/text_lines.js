// The running text in blocks of whole lines. A step changes a few words of one round; in one piece the browser would lay out and paint
// hundreds of tokens for it. Only the block in hand and those seen behind it flow as text; the others stand as they are.
import { el } from "../page/dom.js";

const LEAST = 2;   // lines of a block
const AHEAD = 1;   // lines that flow below the box's lower edge, so that the last of them may be short unseen
const RTL = /[\u0590-\u08ff\ufb1d-\ufefc]/;   // each block would find its own direction

// Pure: which items begin a block. spans: [first line, last line] of each item in pixels, or null where nothing is drawn.
export function blockStarts(spans, least) {
  const starts = [0];
  let from = spans.find(Boolean)?.[0] ?? 0, before = from;
  spans.forEach((span, k) => {
    if (!span) return;
    if (k > 0 && span[0] > before + 8 && span[0] - from >= least - 8) { starts.push(k); from = span[0]; }
    before = span[1];
  });
  return starts;
}

const endsLine = (token) => Boolean(token?.textContent.endsWith("\n"));
// The space before a token's text, where there is one.
const space = (token) =>
  token?.firstChild instanceof Text && token.childNodes.length > 1 && !token.firstChild.data.trim() ? token.firstChild : null;

// The tokens of one round: one span, and a further one in each block that begins within it (`at`: with which token).
function createGroup() {
  const lead = document.createTextNode(""), parts = [el("span", { class: "ss-group" })];
  let at = [0];
  const group = { lead, parts, node: parts[0], round: null, key: "", tokens: () => parts.flatMap((part) => [...part.children]),
    show(state) { for (const part of parts) part.className = `ss-group ${part.firstChild ? state : ""}`; },
    // whole: the round is in hand, all its tokens flow in the first span.
    fill(tokens, { whole, first }) {
      parts.forEach((part, k) => {
        part.replaceChildren(...(whole ? (k ? [] : tokens) : tokens.slice(at[k], at[k + 1])));
        if (k && !whole && !endsLine(tokens[at[k] - 1])) parts[k - 1].append(space(tokens[at[k]]) ?? "");
      });
      const gap = space(tokens[0]);   // the first space stays outside the outline: it may end a line
      lead.data = gap && !first ? gap.data : "";
      gap?.remove();
    },
    split(places) {
      at = [0, ...places];
      if (places.length) group.key = "";   // to be filled anew
      parts.push(...places.map(() => el("span", { class: "ss-group" })));
      return parts.slice(1);
    } };
  return group;
}

// resized(): the blocks no longer fit their box; draw all anew.
export function createLines(box, resized) {
  let blocks = [], tops = [0], places = [], line = 40, uncut = true, width = "", seen = 0, height = 0, held = "";
  const block = () => { const node = el("span", { class: "ss-lines ss-held" }); box.append(node); blocks.push(node); return node; };
  const font = () => getComputedStyle(box).font;
  function reset() { box.replaceChildren(); blocks = []; tops = [0]; places = []; held = ""; uncut = true; }
  function group() {
    const made = createGroup();
    (blocks.at(-1) ?? block()).append(made.lead, made.node);
    return made;
  }

  // groups: of every round, all drawn as settled, in one block. Those that were split are to be filled anew.
  function cut(groups) {
    width = `${box.clientWidth} ${font()}`;
    if (RTL.test(box.textContent)) { uncut = false; return; }
    const at = box.getBoundingClientRect();
    const zoom = at.height / box.offsetHeight;
    const middle = (r) => (r.top + r.bottom) / 2;
    const each = groups.map((g) => g.tokens());
    line = parseFloat(getComputedStyle(box).lineHeight) || 40;
    const spans = each.flat().map((t) => {
      const r = t.querySelector(".ss-mark").getClientRects();
      return r.length ? [middle(r[0]), middle(r[r.length - 1])] : null;
    });
    const starts = blockStarts(spans, LEAST * line * zoom);
    const measured = starts.map((k) => ((spans[k]?.[0] ?? at.top) - at.top) / zoom + box.scrollTop - line / 2);
    seen = box.scrollTop + (height = box.clientHeight);
    reset();
    uncut = false;
    tops = measured;
    let k = 0, now = block();
    places = groups.map((g, r) => {
      const begins = k > 0 && starts.includes(k);
      const within = starts.filter((s) => s > k && s < k + each[r].length).map((s) => s - k);
      const gap = begins && !endsLine(each[r - 1].at(-1));
      if (gap) now.append(g.lead);   // a space at which a line was broken ends that line: at the beginning of a block it would be seen
      if (begins) now = block();
      now.append(gap ? "" : g.lead, g.node);
      const from = blocks.length - 1;
      for (const part of g.split(within)) (now = block()).append(part);
      k += each[r].length;
      return [from, blocks.length - 1];
    });
  }
  // Round r may change: its blocks and those behind them that will be seen flow as text. Where it is out of sight now, the box will be scrolled.
  function hold(r) {
    const [from, to] = places[r] ?? [0, 0], foot = tops[to + 1] ?? Infinity;
    if (tops[from] < seen - height) seen = tops[from] + height;
    else if (foot > seen) seen = Math.min(foot, tops[to] + height);
    const unseen = tops.findIndex((top, k) => k > to && top > seen + AHEAD * line), end = unseen < 0 ? tops.length : unseen, now = `${from} ${end}`;
    if (now === held) return;
    held = now;
    blocks.forEach((node, k) => { node.className = k >= from && k < end ? "ss-lines ss-held" : "ss-lines"; });
  }
  // The box as it has been scrolled.
  function see(r) { seen = box.scrollTop + (height = box.clientHeight); hold(r); }
  const watch =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver(() => {
          if (!uncut && box.clientWidth && `${box.clientWidth} ${font()}` !== width) resized();
        });
  watch?.observe(box);
  return { cut, hold, see, group, reset, get uncut() { return uncut && box.clientWidth > 0; }, destroy() { watch?.disconnect(); } };
}
