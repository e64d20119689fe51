// Charts by hand: scales, axes and marks in SVG. Text enters through textContent; colours come from the style sheet.
import { el, svg } from "./dom.js";
import { fillTable, tableBehind } from "./table.js";

export const linear = ([a, b], [from, to]) => (x) => from + ((x - a) / (b - a)) * (to - from);
export function logarithmic([a, b], range) {
  const scale = linear([Math.log(a), Math.log(b)], range);
  return (x) => scale(Math.log(x));
}

// Ticks at round numbers from 0 to at most `top`, about `wanted` steps.
export function ticksTo(top, wanted = 4) {
  const raw = top / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw - 1e-12);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step);
}

const path = (points, close = false) =>
  points.length ? `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}${close ? "Z" : ""}` : "";

// A chart with axes. x, y: {make(range of pixels) -> scale, ticks, label(tick), title}. paint(g, box) draws the marks: box has the
// edges in pixels and both scales, x and y.
export function frame({ width, height, label, margin = {}, x, y, paint }) {
  const m = { l: 44, r: 14, t: 12, b: 38, ...margin };
  const box = { left: m.l, right: Math.max(m.l + 40, width - m.r), top: m.t, bottom: height - m.b };
  const sx = x.make([box.left, box.right]), sy = y.make([box.bottom, box.top]), parts = [];
  for (const t of y.ticks) {
    parts.push(svg("line", { class: "ss-grid", x1: box.left, x2: box.right, y1: sy(t), y2: sy(t) }));
    parts.push(svg("text", { class: "ss-tick", x: box.left - 7, y: sy(t) + 4, "text-anchor": "end", text: y.label(t) }));
  }
  for (const t of x.ticks) parts.push(svg("text", { class: "ss-tick", x: sx(t), y: box.bottom + 16, "text-anchor": "middle", text: x.label(t) }));
  if (y.title) parts.push(svg("text", { class: "ss-axistitle", x: box.left - 28, y: 12, text: y.title }));
  parts.push(svg("line", { class: "ss-base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  if (x.title) parts.push(svg("text", { class: "ss-axistitle", x: box.right, y: box.bottom + 32, "text-anchor": "end", text: x.title }));
  const marks = svg("g");
  paint(marks, { ...box, x: sx, y: sy });
  return svg("svg", { class: "ss-chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts, marks);
}

export const line = (points, cls) => svg("path", { class: `ss-stroke ${cls}`, d: path(points) });
export const area = (points, cls) => svg("path", { class: cls, d: path(points, true) });
export const label = (x, y, text, cls = "", anchor = "start") => svg("text", { class: `ss-mark-text ${cls}`, x, y, "text-anchor": anchor, text });

// The place of a chart: drawn anew when its width changes, with the same numbers as a table below it for whoever cannot see it.
// draw(width) -> {node, table: {caption, head, rows}}.
export function chartBox(tableWord, draw) {
  const plot = el("div", { class: "ss-plotbox" }), { table, details } = tableBehind(tableWord, tableWord);
  const root = el("div", { class: "ss-chartbox" }, plot, details);
  let width = 0;
  const redraw = () => {
    if (!plot.clientWidth) return;
    width = plot.clientWidth;
    const made = draw(width);
    plot.replaceChildren(made.node);
    if (details.open) fillTable(table, made.table);
  };
  details.addEventListener("toggle", redraw);
  const resized = () => { if (plot.clientWidth !== width) redraw(); };
  if (typeof ResizeObserver !== "undefined") new ResizeObserver(resized).observe(plot);
  return { root, redraw };
}
