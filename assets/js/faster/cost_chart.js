// The cost of a pass over its tokens: as measured, beside what as many passes over one token would cost.
import { chartBox, frame, label, line, linear, ticksTo } from "../page/charts.js";
import { fixed } from "../page/numbers.js";
import { floorSeconds, passPoints } from "../trace/theory.js";
import { dot } from "./marks.js";

function paint(g, box, { points, one, top, last, floor }, w) {
  const separate = [];
  for (let n = 1; n <= last && n * one <= top; n += 0.1) separate.push([box.x(n), box.y(n * one)]);
  const name = [Math.min(separate.at(-1)[0] + 8, box.right - 150), box.y(top) + 12];
  g.append(line(separate, "ss-separate"), label(...name, w.separate, "ss-soft"));
  if (floor) {
    const y = box.y(floor), nameY = box.bottom - y > 30 ? y + 16 : y - 7;
    g.append(line([[box.left, y], [box.right, y]], "ss-floorline"), label(box.right, nameY, w.floor, "ss-soft", "end"));
  }
  const at = ([n, s]) => [box.x(n), box.y(s)], measured = points.map(at);
  g.append(line(measured, "ss-good"), ...measured.map(([x, y]) => dot(x, y, "ss-head ss-good")));
  if (!points.length) return;
  const [x, y] = measured[Math.floor((points.length - 1) / 2)];
  g.append(label(x, y - 12, w.measured, "ss-goodtext", "middle"));
}

// get() -> the costs to show, in the shape of theory.costsOf.
export function costChart(words, get) {
  const w = words.costs;
  return chartBox(words.table, (width) => {
    const costs = get(), points = passPoints(costs?.passes), one = points[0]?.[1] ?? 1, floor = costs ? floorSeconds(costs) : null;
    const top = 1.15 * Math.max(...points.map(([, s]) => s), 2.2 * one), last = Math.max(2, points.at(-1)?.[0] ?? 2);
    const node = frame({
      width,
      height: 270,
      margin: { l: 58 },
      label: w.label(points.map(([n, s]) => w.row(n, s))),
      x: {
        make: (range) => linear([1, last], range),
        ticks: points.map(([n]) => n).filter((n) => last <= 12 || n === 1 || n >= 8),
        label: String,
        title: w.x,
      },
      y: { make: (range) => linear([0, top], range), ticks: ticksTo(top), label: (t) => (t ? words.ms(t) : "0") },
      paint: (g, box) => paint(g, box, { points, one, top, last, floor }, w),
    });
    const rows = points.map(([n, s]) => [String(n), words.ms(s), fixed(s / one, 2), words.ms(n * one)]);
    return { node, table: { caption: w.chart, head: w.head, rows } };
  });
}
