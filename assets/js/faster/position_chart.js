// Acceptance by position: bars with their intervals, and beside them what the first position's rate would give if all were alike.
import { chartBox, frame, line, linear, ticksTo } from "../page/charts.js";
import { svg } from "../page/dom.js";
import { percent } from "../page/numbers.js";
import { dot, upright } from "./marks.js";

function paint(g, box, rows, top) {
  const half = Math.min(26, (box.x(2) - box.x(1)) * 0.3);
  rows.forEach((r, i) => {
    const x = box.x(i + 1), y = box.y(r.share), [low, high] = r.interval;
    g.append(
      svg("rect", { class: "ss-posbar", x: x - half, width: 2 * half, y, height: box.bottom - y }),
      upright(x, box.y(low), Math.max(box.top, box.y(Math.min(high, top)))),
    );
  });
  const alike = rows.map((r, i) => [box.x(i + 1), box.y(Math.min(top, r.iid))]);
  g.append(line(alike, "ss-expected"), ...alike.map(([x, y]) => dot(x, y, "ss-iid", 4.5)));
}

// get() -> the positions of runFacts.
export function positionChart(words, get) {
  const w = words.position;
  return chartBox(words.table, (width) => {
    const rows = get(), n = Math.max(1, rows.length);
    const top = Math.min(1, Math.max(0.2, ...rows.flatMap((r) => [r.interval[1], r.iid])) * 1.08);
    const node = frame({
      width,
      height: 250,
      margin: { l: 48 },
      label: w.label(rows.map((r, i) => w.row(i + 1, r.share, r.iid))),
      x: { make: (range) => linear([0.5, n + 0.5], range), ticks: rows.map((_, i) => i + 1), label: String, title: w.x },
      y: { make: (range) => linear([0, top], range), ticks: ticksTo(top), label: percent },
      paint: (g, box) => paint(g, box, rows, top),
    });
    const row = (r, i) => [i + 1, r.accepted, r.drafted, percent(r.share), r.interval.map(percent).join(" – "), percent(r.iid)].map(String);
    return { node, table: { caption: w.title, head: w.head, rows: rows.map(row) } };
  });
}
