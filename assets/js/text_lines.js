// The running text in blocks of whole lines. A step changes a few words of one round; in one piece the browser would lay out and paint
// hundreds of tokens for it. Only the block in hand and the next few flow as text; the others stand as they are.
import { el } from "./dom.js";

const LEAST = 2;   // lines of a block
const AHEAD = 8;   // lines that flow behind the block in hand: more than the box shows, so that the last of them may be short unseen
const RTL = /[\u0590-\u08ff\ufb1d-\ufefc]/;   // each block would find its own direction

// Pure: which groups begin a block. spans: [top of the first line, top of the last line] of each group, or null where nothing is drawn.
export function blockStarts(spans, least) {
  const starts = [0];
  let from = spans.find(Boolean)?.[0] ?? 0, before = from;
  spans.forEach((span, k) => {
    if (!span) return;
    if (k > 0 && span[0] > before + 4 && span[0] - from >= least) { starts.push(k); from = span[0]; }
    before = span[1];
  });
  return starts;
}

// resized(): the blocks no longer fit their box and were joined; draw again.
export function createLines(box, resized) {
  let blocks = [], starts = [0], tops = [0], line = 40, uncut = true, width = 0, held = -1;
  const block = () => { const node = el("span", { class: "ss-lines ss-held" }); box.append(node); blocks.push(node); return node; };
  const clear = () => { box.replaceChildren(); blocks = []; starts = [0]; held = -1; };
  const font = () => getComputedStyle(box).font;

  // groups: {lead, node} of every round, all drawn as settled.
  function cut(groups) {
    uncut = false;
    if (blocks.length > 1) { clear(); block().append(...groups.flatMap((g) => [g.lead, g.node])); }
    width = `${box.clientWidth} ${font()}`;
    if (RTL.test(box.textContent)) return;
    const spans = groups.map(({ node }) => { const r = node.getClientRects(); return r.length ? [r[0].top, r[r.length - 1].top] : null; });
    line = (parseFloat(getComputedStyle(box).lineHeight) || 40) * (box.getBoundingClientRect().height / box.offsetHeight);   // as large as it is seen, where the page is zoomed
    starts = blockStarts(spans, LEAST * line);
    tops = starts.map((k) => spans[k]?.[0] ?? 0);
    starts.forEach((start, n) => {
      const at = n ? block() : blocks[0];
      for (let k = start; k < (starts[n + 1] ?? groups.length); k++) {
        // a space at which a line was broken ends that line: at the beginning of a block it would be seen
        const broken = n > 0 && k === start && !groups[k - 1].node.textContent.endsWith("\n");
        (broken ? blocks[n - 1] : at).append(groups[k].lead);
        at.append(groups[k].node);
      }
    });
    held = -1;
  }
  // Round r may change: its block and the next few flow as text.
  function hold(r) {
    const b = Math.max(0, starts.findLastIndex((start) => start <= r));
    if (b === held) return;
    held = b;
    const end = (tops[b + 1] ?? Infinity) + AHEAD * line;
    blocks.forEach((node, k) => { node.className = k === b || (k > b && tops[k] < end) ? "ss-lines ss-held" : "ss-lines"; });
  }
  const watch = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(() => {
    if (!uncut && box.clientWidth && `${box.clientWidth} ${font()}` !== width) { uncut = true; resized(); }
  });
  watch?.observe(box);
  return { cut, hold, add(lead, node) { (blocks.at(-1) ?? block()).append(lead, node); }, get uncut() { return uncut && box.clientWidth > 0; },
    reset() { clear(); uncut = true; }, destroy() { watch?.disconnect(); } };
}
