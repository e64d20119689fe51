// A drafted tree: depth runs to the right, branches stack; the kept path is solid, tried siblings dashed, the rest dotted.
import { el, svg } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { depths, draftStates } from "../trace/steps.js";
import { isTree } from "../trace/trace.js";

// Rows for the leaves, parents centred on their children. Pure: positions in units of one row and one column.
export function treeLayout(round) {
  const depth = depths(round), kids = round.drafted.map(() => []), roots = [];
  round.drafted.forEach((d, i) => (d.parent < 0 ? roots : kids[d.parent]).push(i));
  const y = [];
  let leaf = 0;
  const place = (i) => { kids[i].forEach(place); y[i] = kids[i].length ? (y[kids[i][0]] + y[kids[i].at(-1)]) / 2 : leaf++; };
  roots.forEach(place);
  return { depth, y, rows: Math.max(1, leaf), columns: Math.max(0, ...depth) + 1, rootY: roots.length ? (y[roots[0]] + y[roots.at(-1)]) / 2 : 0 };
}

export function createTree(words, onSelect) {
  const root = el("div", { class: "ss-tree", hidden: true });
  function draw({ trace, step, sel }) {
    const round = trace.rounds[step.r];
    root.hidden = !isTree(round);
    if (root.hidden) return;
    const { depth, y, rows, columns, rootY } = treeLayout(round), states = draftStates(round, step);
    const W = 150, H = 30, px = (i) => 34 + depth[i] * W, py = (v) => 16 + v * H;
    const picture = svg("svg", {
      viewBox: `0 0 ${34 + columns * W} ${rows * H + 6}`,
      width: 34 + columns * W,
      height: rows * H + 6,
      "aria-hidden": "true",
    });
    picture.append(svg("circle", { cx: 10, cy: py(rootY), r: 5, class: "ss-root" }));
    round.drafted.forEach((d, i) => {
      if (states[i] === "hidden") return;
      const x0 = d.parent < 0 ? 15 : px(d.parent) + W - 40;
      const y0 = d.parent < 0 ? py(rootY) : py(y[d.parent]);
      const x1 = px(i);
      const y1 = py(y[i]);
      const mid = (x0 + x1) / 2;
      picture.append(svg("path", { d: `M${x0} ${y0}C${mid} ${y0} ${mid} ${y1} ${x1} ${y1}`, class: "ss-edge", "data-kind": states[i] }));
    });
    round.drafted.forEach((d, i) => {
      if (states[i] === "hidden") return;
      const g = svg("g", {
        class: sel === i ? "ss-node ss-sel" : "ss-node",
        "data-kind": states[i],
        onclick: () => onSelect(i),
        transform: `translate(${px(i)} ${py(y[i]) - 12})`,
      });
      g.append(
        svg("rect", { width: W - 40, height: 24, rx: 7 }),
        svg("text", { x: 8, y: 16.5, text: `${words.mark[states[i]]} ${short(d.text, 11)}`.trim() }),
      );
      picture.append(g);
    });
    root.replaceChildren(el("p", { class: "ss-sub", text: words.tree }), el("div", { class: "ss-treescroll" }, picture));
  }
  return { root, draw };
}
