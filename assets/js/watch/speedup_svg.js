// The running speed-up without Plotly, for the saved page: the same two lines and the point.
import { svg } from "../page/dom.js";
import { frame, label, line, linear, ticksTo } from "../page/charts.js";
import { upTo } from "../page/numbers.js";

export function speedupSvg(data, width, words) {
  const last = (a) => a.at(-1) ?? 0;
  const topX = Math.max(last(data.spec.x), last(data.plain.x), 1e-3);
  const most = Math.max(last(data.spec.y), last(data.plain.y), 1);
  const step = ticksTo(most, 4)[1] ?? most;
  const topY = Math.ceil(most / step) * step;
  const xs = ticksTo(topX, 4), ys = ticksTo(topY, 4);
  return frame({
    width,
    height: 250,
    label: words.label(last(data.spec.y), last(data.plain.y)),
    margin: { l: 34, r: 10, t: 26 },
    x: { make: (range) => linear([0, topX], range), ticks: xs, label: (t) => `${upTo(t, 2)} ${words.second}`, title: words.x },
    y: { make: (range) => linear([0, topY], range), ticks: ys, label: String, title: words.y },
    paint(g, box) {
      const points = (xy) => xy.x.map((x, i) => [box.x(x), box.y(xy.y[i])]);
      g.append(
        line(points(data.plain), data.measured ? "" : "ss-separate"),
        line(points(data.spec), "ss-good"),
        svg("circle", { cx: box.x(data.now.t), cy: box.y(data.now.n), r: 6, class: "ss-head ss-good" }),
      );
      if (data.plain.x.length > 1) g.append(label(box.right - 4, box.bottom - 12, data.measured ? words.plain : words.plainEstimate, "", "end"));
      g.append(label(box.right - 4, box.bottom - 30, words.spec, "ss-goodtext", "end"));
    },
  });
}
