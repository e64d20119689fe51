// The four charts of "Why it is faster": cost of a pass, speed-up over draft length, over acceptance, acceptance by position.
import { svg } from "../page/dom.js";
import { overAlpha, overLength, propagated } from "./model.js";
import { fixed, percent, probLong, ratio, upTo } from "../page/numbers.js";
import { chartBox, frame, line, linear, ticksTo, label } from "../page/charts.js";
import { floorSeconds, passPoints } from "../trace/theory.js";

const dot = (x, y, cls, r = 4) => svg("circle", { class: cls, cx: x, cy: y, r });
const diamond = (x, y) => svg("path", { class: "ss-diamond", d: `M${x} ${y - 7}l6 7l-6 7l-6-7z` });
function whisker(x, y0, y1, across = false) {
  return across
    ? svg("path", { class: "ss-interval", d: `M${x} ${y0 - 4}v8M${x} ${y0}H${y1}M${y1} ${y0 - 4}v8` })
    : svg("path", { class: "ss-interval", d: `M${x - 4} ${y0}h8M${x} ${y0}V${y1}M${x - 4} ${y1}h8` });
}

export function costChart(words, get) {
  const w = words.costs;
  return chartBox(words.table, (width) => {
    const costs = get(), points = passPoints(costs?.passes), one = points[0]?.[1] ?? 1, floor = costs ? floorSeconds(costs) : null;
    const most = Math.max(...points.map(([, s]) => s), 2.2 * one), top = 1.15 * most, last = Math.max(2, points.at(-1)?.[0] ?? 2);
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
      paint(g, box) {
        const steep = [];
        for (let n = 1; n <= last && n * one <= top; n += 0.1) steep.push([box.x(n), box.y(n * one)]);
        g.append(line(steep, "ss-separate"), label(Math.min(steep.at(-1)[0] + 8, box.right - 150), box.y(top) + 12, w.separate, "ss-soft"));
        if (floor)
          g.append(
            line(
              [
                [box.left, box.y(floor)],
                [box.right, box.y(floor)],
              ],
              "ss-floorline",
            ),
            label(box.right, box.bottom - box.y(floor) > 30 ? box.y(floor) + 16 : box.y(floor) - 7, w.floor, "ss-soft", "end"),
          );
        g.append(
          line(
            points.map(([n, s]) => [box.x(n), box.y(s)]),
            "ss-good",
          ),
          ...points.map(([n, s]) => dot(box.x(n), box.y(s), "ss-head ss-good")),
        );
        if (points.length) {
          const [n, s] = points[Math.floor((points.length - 1) / 2)];
          g.append(label(box.x(n), box.y(s) - 12, w.measured, "ss-goodtext", "middle"));
        }
      },
    });
    return {
      node,
      table: { caption: w.chart, head: w.head, rows: points.map(([n, s]) => [String(n), words.ms(s), fixed(s / one, 2), words.ms(n * one)]) },
    };
  });
}

// The ground both speed-up charts stand on: red below 1, with its words.
function ground(g, box, w) {
  g.append(
    svg("rect", { class: "ss-slowzone", x: box.left, y: box.y(1), width: box.right - box.left, height: Math.max(0, box.bottom - box.y(1)) }),
    svg("line", { class: "ss-one", x1: box.left, x2: box.right, y1: box.y(1), y2: box.y(1) }),
  );
  if (box.bottom - box.y(1) > 20) g.append(label(box.right - 8, box.bottom - 9, w.slowHere, "ss-bad", "end"));
}

const range = (values) => Math.max(1.6, Math.min(12, Math.max(...values.filter(Number.isFinite)) * 1.12));

export function lengthChart(words, get) {
  const w = words.model;
  return chartBox(words.table, (width) => {
    const { state, facts, expected } = get(), rows = overLength(state), run = facts ? propagated(facts, state) : null;
    const top = range([...rows.map((r) => r.speed), ...(run ?? []), facts?.measured]);
    const node = frame({
      width,
      height: 280,
      label: w.lengthLabel(state.alpha, ...expected.best),
      x: { make: (r) => linear([0.5, 10.5], r), ticks: rows.map((r) => r.k), label: String, title: w.lengthX },
      y: { make: (r) => linear([0, top], r), ticks: ticksTo(top), label: (t) => `${upTo(t, 2)}×` },
      paint(g, box) {
        ground(g, box, w);
        g.append(
          line(
            rows.map((r) => [box.x(r.k), box.y(r.speed)]),
            "ss-good",
          ),
          ...rows.map((r) => dot(box.x(r.k), box.y(r.speed), `ss-head ${r.speed < 1 ? "ss-wrongtrack" : "ss-good"}`, r.k === state.k ? 6.5 : 3.5)),
        );
        if (run) g.append(...runMark(box.x(facts.k), box, run, facts));
      },
    });
    return {
      node,
      table: {
        caption: w.overLength,
        head: w.lengthHead,
        rows: rows.map((r) => [String(r.k), ratio(r.speed), fixed(r.yields, 2), fixed(r.cost, 2)]),
      },
    };
  });
}

function runMark(x, box, run, facts) {
  const at = (s) => Math.max(box.top, box.y(s)), marks = [whisker(x, at(run[0]), at(run[2])), dot(x, at(run[1]), "ss-runpoint", 5)];
  if (facts.measured !== null) marks.push(diamond(x, at(facts.measured)));
  return marks;
}

export function alphaChart(words, get) {
  const w = words.model;
  return chartBox(words.table, (width) => {
    const { state, facts, expected } = get(), rows = overAlpha(state), run = facts ? propagated(facts, state) : null;
    const others = [1, 2, 4, 8].filter((k) => k !== state.k).map((k) => [k, overAlpha({ ...state, k })]);
    const top = range(
      [rows, ...others.map(([, r]) => r)]
        .flatMap((r) => r.filter((p) => p.alpha <= 0.85))
        .map((p) => p.speed)
        .concat(expected.speed, facts?.measured ?? 0),
    );   // near 1 the long drafts leave the picture
    const node = frame({
      width,
      height: 280,
      margin: { r: 42 },
      label: w.alphaLabel(state.k, expected.breakEven),
      x: { make: (r) => linear([0, 1], r), ticks: [0, 0.25, 0.5, 0.75, 1], label: (t) => upTo(t, 2), title: w.alphaX },
      y: { make: (r) => linear([0, top], r), ticks: ticksTo(top), label: (t) => `${upTo(t, 2)}×` },
      paint(g, box) {
        ground(g, box, w);
        // Each curve is named on itself, where it is furthest from the other curves, the marks and the names.
        const curves = [...others, [state.k, rows]],
          at = (p) => [box.x(p.alpha), box.y(p.speed)],
          names = [],
          apart = ([x, y], [a, b]) => Math.hypot((x - a) / 1.6, y - b);
        const taken = [
          [box.x(state.alpha), box.y(expected.speed)],
          ...(run
            ? [
                [box.x(facts.alpha), box.y(run[1])],
                [box.x(facts.alpha), box.y(facts.measured ?? run[1])],
              ]
            : []),
        ];
        for (const [k, r] of curves) {
          const seen = r.filter((p) => p.speed <= top),
            mine = k === state.k;
          g.append(line(seen.map(at), mine ? "ss-good" : "ss-other"));
          const room = (p) =>
            Math.min(
              26,
              ...taken.map((t) => apart(at(p), t)),
              ...curves.flatMap(([other, o]) => (other === k ? [] : o.map((x) => apart(at(p), at(x))))),
            );
          const place = at(seen.slice(2).reduce((best, p) => (room(p) >= room(best) ? p : best)));
          taken.push(place);
          names.push(
            label(Math.min(place[0], box.right + 24), place[1] + 4, mine ? w.kLabel(k) : String(k), mine ? "ss-goodtext" : "ss-soft", "middle"),
          );
        }
        g.append(...names);
        if (expected.breakEven !== null && expected.breakEven > 0.005)
          g.append(
            svg("line", { class: "ss-evenline", x1: box.x(expected.breakEven), x2: box.x(expected.breakEven), y1: box.y(1), y2: box.bottom }),
            dot(box.x(expected.breakEven), box.y(1), "ss-even", 3.5),
          );
        g.append(dot(box.x(state.alpha), box.y(expected.speed), `ss-head ${expected.speed < 1 ? "ss-wrongtrack" : "ss-good"}`, 6.5));
        if (run)
          g.append(whisker(box.x(facts.interval[0]), box.y(run[1]), box.x(facts.interval[1]), true), ...runMark(box.x(facts.alpha), box, run, facts));
      },
    });
    return {
      node,
      table: { caption: w.overAlpha, head: w.alphaHead, rows: rows.filter((_, i) => i % 5 === 0).map((r) => [probLong(r.alpha), ratio(r.speed)]) },
    };
  });
}

export function positionChart(words, get) {
  const w = words.position;
  return chartBox(words.table, (width) => {
    const rows = get();
    const n = Math.max(1, rows.length);
    const tops = rows.flatMap((r) => [r.interval[1], r.iid]);
    const top = Math.min(1, Math.max(0.2, ...tops) * 1.08);
    const node = frame({
      width,
      height: 250,
      margin: { l: 48 },
      label: w.label(rows.map((r, i) => w.row(i + 1, r.share, r.iid))),
      x: { make: (r) => linear([0.5, n + 0.5], r), ticks: rows.map((_, i) => i + 1), label: String, title: w.x },
      y: { make: (r) => linear([0, top], r), ticks: ticksTo(top), label: percent },
      paint(g, box) {
        const half = Math.min(26, (box.x(2) - box.x(1)) * 0.3);
        rows.forEach((r, i) =>
          g.append(
            svg("rect", { class: "ss-posbar", x: box.x(i + 1) - half, width: 2 * half, y: box.y(r.share), height: box.bottom - box.y(r.share) }),
            whisker(box.x(i + 1), box.y(r.interval[0]), Math.max(box.top, box.y(Math.min(r.interval[1], top)))),
          ),
        );
        g.append(
          line(
            rows.map((r, i) => [box.x(i + 1), box.y(Math.min(top, r.iid))]),
            "ss-expected",
          ),
          ...rows.map((r, i) => dot(box.x(i + 1), box.y(Math.min(top, r.iid)), "ss-iid", 4.5)),
        );
      },
    });
    return {
      node,
      table: {
        caption: w.title,
        head: w.head,
        rows: rows.map((r, i) => [
          String(i + 1),
          String(r.accepted),
          String(r.drafted),
          percent(r.share),
          r.interval.map(percent).join(" – "),
          percent(r.iid),
        ]),
      },
    };
  });
}
