// A drafted tree: depth runs to the right, branches stand one below the other. The accepted path is drawn solid, rejected siblings dashed, the
// others dotted.
import { el, svg } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { depths, draftStates } from "../trace/steps.js";
import { isTree } from "../trace/trace.js";

// Pure: where the nodes stand, in units of a column and a row. Each leaf has a row; a parent stands in the middle of its children.
export function treeLayout(round) {
  const depth = depths(round), children = round.drafted.map(() => []), roots = [], y = [];
  round.drafted.forEach((d, i) => (d.parent < 0 ? roots : children[d.parent]).push(i));
  const middle = (list) => (y[list[0]] + y[list.at(-1)]) / 2;
  let leaves = 0;
  const place = (i) => {
    children[i].forEach(place);
    y[i] = children[i].length ? middle(children[i]) : leaves++;
  };
  roots.forEach(place);
  return { depth, y, rows: Math.max(1, leaves), columns: Math.max(0, ...depth) + 1, rootY: roots.length ? middle(roots) : 0 };
}

const COLUMN = 150, ROW = 30, LEFT = 34, BOX = COLUMN - 40;   // in pixels; BOX: the width of a node

// select(i): the node of a drafted token was pressed.
export function createTree(words, select) {
  const root = el("div", { class: "ss-tree", hidden: true });

  function edge(round, i, { depth, y, rootY }, state) {
    const { parent } = round.drafted[i], at = (v) => 16 + v * ROW;
    const x0 = parent < 0 ? 15 : LEFT + depth[parent] * COLUMN + BOX, y0 = at(parent < 0 ? rootY : y[parent]);
    const x1 = LEFT + depth[i] * COLUMN, y1 = at(y[i]), middle = (x0 + x1) / 2;
    return svg("path", { d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`, class: "ss-edge", "data-kind": state });
  }
  function node(round, i, { depth, y }, state, selected) {
    const place = `translate(${LEFT + depth[i] * COLUMN} ${16 + y[i] * ROW - 12})`, cls = selected ? "ss-node ss-sel" : "ss-node";
    return svg("g", { class: cls, "data-kind": state, onclick: () => select(i), transform: place },
      svg("rect", { width: BOX, height: 24, rx: 7 }),
      svg("text", { x: 8, y: 16.5, text: `${words.mark[state]} ${short(round.drafted[i].text, 11)}`.trim() }),
    );
  }
  function draw({ trace, step, sel }) {
    const round = trace.rounds[step.r];
    root.hidden = !isTree(round);
    if (root.hidden) return;
    const layout = treeLayout(round), states = draftStates(round, step), width = LEFT + layout.columns * COLUMN, height = layout.rows * ROW + 6;
    const seen = round.drafted.map((_, i) => i).filter((i) => states[i] !== "hidden");
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
      svg("circle", { cx: 10, cy: 16 + layout.rootY * ROW, r: 5, class: "ss-root" }),
      ...seen.map((i) => edge(round, i, layout, states[i])),
      ...seen.map((i) => node(round, i, layout, states[i], sel === i)),
    );
    root.replaceChildren(el("p", { class: "ss-sub", text: words.tree }), el("div", { class: "ss-treescroll" }, picture));
  }
  return { root, draw };
}
