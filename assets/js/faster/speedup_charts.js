// The expected speed-up over the draft length, and over the acceptance rate, with the run as a point on the curves.
import { chartBox, frame, label, line, linear, ticksTo } from "../page/charts.js";
import { svg } from "../page/dom.js";
import { fixed, probLong, ratio, upTo } from "../page/numbers.js";
import { diamond, dot, lying, upright } from "./marks.js";
import { overAlpha, overLength, propagated } from "./model.js";

// The ground of both charts: red below 1, with its words.
function paintGround(g, box, w) {
  const one = box.y(1);
  g.append(
    svg("rect", { class: "ss-slowzone", x: box.left, y: one, width: box.right - box.left, height: Math.max(0, box.bottom - one) }),
    svg("line", { class: "ss-one", x1: box.left, x2: box.right, y1: one, y2: one }),
  );
  if (box.bottom - one > 20) g.append(label(box.right - 8, box.bottom - 9, w.slowHere, "ss-bad", "end"));
}

// The run: the closed form at its rate and at both ends of the rate's interval (run), and its measured speed-up.
function runMarks(x, box, run, facts) {
  const at = (speed) => Math.max(box.top, box.y(speed)), marks = [upright(x, at(run[0]), at(run[2])), dot(x, at(run[1]), "ss-runpoint", 5)];
  return facts.measured === null ? marks : [...marks, diamond(x, at(facts.measured))];
}

const headClass = (speed) => `ss-head ${speed < 1 ? "ss-wrongtrack" : "ss-good"}`;
const topFor = (speeds) => Math.max(1.6, Math.min(12, Math.max(...speeds.filter(Number.isFinite)) * 1.12));
const speedAxis = (top) => ({ make: (range) => linear([0, top], range), ticks: ticksTo(top), label: (t) => `${upTo(t, 2)}×` });

// get() -> {state: of the sliders, facts: of the run or null, expected}.
export function lengthChart(words, get) {
  const w = words.model;
  return chartBox(words.table, (width) => {
    const { state, facts, expected } = get(), rows = overLength(state), run = facts ? propagated(facts, state) : null;
    const top = topFor([...rows.map((r) => r.speed), ...(run ?? []), facts?.measured]);
    function paint(g, box) {
      const at = (r) => [box.x(r.k), box.y(r.speed)];
      paintGround(g, box, w);
      g.append(line(rows.map(at), "ss-good"), ...rows.map((r) => dot(...at(r), headClass(r.speed), r.k === state.k ? 6.5 : 3.5)));
      if (run) g.append(...runMarks(box.x(facts.k), box, run, facts));
    }
    const node = frame({
      width,
      height: 280,
      label: w.lengthLabel(state.alpha, ...expected.best),
      x: { make: (range) => linear([0.5, 10.5], range), ticks: rows.map((r) => r.k), label: String, title: w.lengthX },
      y: speedAxis(top),
      paint,
    });
    const row = (r) => [String(r.k), ratio(r.speed), fixed(r.yields, 2), fixed(r.cost, 2)];
    return { node, table: { caption: w.overLength, head: w.lengthHead, rows: rows.map(row) } };
  });
}

const apart = ([x, y], [a, b]) => Math.hypot((x - a) / 1.6, y - b);

// The curves, [k, points] each, with their names. A name stands on its curve where it is furthest from the other curves, from the marks
// (taken) and from the other names.
function paintCurves(g, box, curves, mine, top, taken, w) {
  const at = (p) => [box.x(p.alpha), box.y(p.speed)], names = [];
  for (const [k, points] of curves) {
    const seen = points.filter((p) => p.speed <= top), others = curves.flatMap(([other, o]) => (other === k ? [] : o.map(at)));
    const room = (p) => Math.min(26, ...[...taken, ...others].map((place) => apart(at(p), place)));
    const place = at(seen.slice(2).reduce((best, p) => (room(p) >= room(best) ? p : best)));
    const [text, cls] = k === mine ? [w.kLabel(k), "ss-goodtext"] : [String(k), "ss-soft"];
    taken.push(place);
    names.push(label(Math.min(place[0], box.right + 24), place[1] + 4, text, cls, "middle"));
    g.append(line(seen.map(at), k === mine ? "ss-good" : "ss-other"));
  }
  g.append(...names);
}

function paintBreakEven(g, box, alpha) {
  const x = box.x(alpha), y = box.y(1);
  g.append(svg("line", { class: "ss-evenline", x1: x, x2: x, y1: y, y2: box.bottom }), dot(x, y, "ss-even", 3.5));
}

export function alphaChart(words, get) {
  const w = words.model;
  return chartBox(words.table, (width) => {
    const { state, facts, expected } = get(), rows = overAlpha(state), run = facts ? propagated(facts, state) : null;
    const others = [1, 2, 4, 8].filter((k) => k !== state.k).map((k) => [k, overAlpha({ ...state, k })]), curves = [...others, [state.k, rows]];
    // Near 1 the curves of long drafts leave the picture.
    const speeds = curves.flatMap(([, points]) => points.filter((p) => p.alpha <= 0.85).map((p) => p.speed));
    const top = topFor([...speeds, expected.speed, facts?.measured ?? 0]);
    function paint(g, box) {
      const here = [box.x(state.alpha), box.y(expected.speed)], x = run && box.x(facts.alpha);
      const taken = run ? [here, [x, box.y(run[1])], [x, box.y(facts.measured ?? run[1])]] : [here];
      paintGround(g, box, w);
      paintCurves(g, box, curves, state.k, top, taken, w);
      if (expected.breakEven !== null && expected.breakEven > 0.005) paintBreakEven(g, box, expected.breakEven);
      g.append(dot(...here, headClass(expected.speed), 6.5));
      if (!run) return;
      const [low, high] = facts.interval;
      g.append(lying(box.x(low), box.x(high), box.y(run[1])), ...runMarks(x, box, run, facts));
    }
    const node = frame({
      width,
      height: 280,
      margin: { r: 42 },
      label: w.alphaLabel(state.k, expected.breakEven),
      x: { make: (range) => linear([0, 1], range), ticks: [0, 0.25, 0.5, 0.75, 1], label: (t) => upTo(t, 2), title: w.alphaX },
      y: speedAxis(top),
      paint,
    });
    const some = rows.filter((_, i) => i % 5 === 0).map((r) => [probLong(r.alpha), ratio(r.speed)]);
    return { node, table: { caption: w.overAlpha, head: w.alphaHead, rows: some } };
  });
}
