// The running speed-up: tokens against wall time, speculative and plain. Plotly is fetched late and draws the lines; it never sees model text.
// The point of the current step is not Plotly's: drawing takes it some 20 ms, too long for every step. It moves over the chart.
import { el, say } from "../page/dom.js";
import { plainTimes } from "../trace/tally.js";
import { speedupSvg } from "./speedup_svg.js";
import { decimal } from "../page/numbers.js";
import { emittedAt } from "../trace/steps.js";

const LAG = 120;   // milliseconds between two drawings
const HEIGHT = 250, MARGIN = { l: 46, r: 10, t: 8, b: 42 };

// Pure: the two lines of a run. Point k is where k rounds (spec), or k plain tokens, were done; point 0 is the start.
export function speedupLines(trace) {
  const spec = { x: [0], y: [0] };
  let n = 0;
  for (const r of trace.rounds) {
    n += r.emitted.length;
    spec.x.push(r.elapsed_s);
    spec.y.push(n);
  }
  const { times, measured } = plainTimes(trace, n);
  return { spec, plain: { x: [0, ...times], y: [0, ...times.map((_, i) => i + 1)] }, measured };
}

// Pure: where both runs are at a step.
export function speedupNow({ spec, plain, measured }, trace, step) {
  let tokens = plain.x.length - 1;
  while (tokens > 0 && plain.x[tokens] > step.t) tokens -= 1;
  return { t: step.t, n: spec.y[step.r] + emittedAt(trace.rounds[step.r], step), plain: { tokens, measured, known: plain.x.length > 1 } };
}

// Pure: what Plotly draws. colours: by the names of the style sheet.
function plotlyFigure(data, c, words) {
  const hover = `%{y} ${words.y}, %{x:.2f} ${words.second}<extra></extra>`;
  const line = (xy, name, l) => ({ type: "scatter", mode: "lines", x: xy.x, y: xy.y, name, line: l, hovertemplate: hover });
  const plainName = data.measured ? words.plain : words.plainEstimate;
  const traces = [
    line(data.spec, words.spec, { color: c.acc, width: 3, shape: "linear" }),
    line(data.plain, plainName, { color: c.dis, width: 2.5, dash: data.measured ? "solid" : "dash" }),
  ];
  const axis = {
    gridcolor: c.line,
    zeroline: false,
    linecolor: c.line,
    tickfont: { size: 11, color: c.soft },
    fixedrange: true,
    rangemode: "tozero",
    nticks: 5,
  };
  const layout = {
    template: null,
    separators: `${decimal()} `,
    height: HEIGHT,
    margin: MARGIN,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: c.font, color: c.ink, size: 12 },
    xaxis: { ...axis, ticksuffix: ` ${words.second}`, showgrid: false, title: { text: words.x, font: { size: 11, color: c.soft }, standoff: 6 } },
    yaxis: { ...axis, title: { text: words.y, font: { size: 11, color: c.soft }, standoff: 6 } },
    legend: { x: 1, y: 0.03, xanchor: "right", yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: 11.5, color: c.ink } },
    hovermode: "closest",
    hoverlabel: { font: { family: c.font } },
    uirevision: "race",
  };
  return { traces, layout };
}

// Pure: where the point lies, in pixels, in a chart of this width whose axes have the ranges x and y.
export function dotAt(now, { x, y, width }) {
  const share = (v, [a, b]) => (v - a) / (b - a || 1);
  return [MARGIN.l + share(now.t, x) * (width - MARGIN.l - MARGIN.r), HEIGHT - MARGIN.b - share(now.n, y) * (HEIGHT - MARGIN.t - MARGIN.b)];
}

// The colours of the style sheet, for Plotly.
function coloursOf(node) {
  const style = getComputedStyle(node), colour = (name) => style.getPropertyValue(`--ss-${name}`).trim();
  return { acc: colour("acc"), dis: colour("dis"), ink: colour("ink"), soft: colour("soft"), line: colour("line"), font: style.fontFamily };
}

// How far plain decoding has come, which the lines are compared with.
function plainWords(lines, trace, w) {
  const beingTimed = trace.source === "live" && trace.totals && trace.totals.stop !== "cancelled";
  if (lines.measured) return w.measured;
  if (beingTimed) return w.running(trace.progress);
  return lines.plain.x.length > 1 ? w.estimate : w.alone;
}

// loadPlotly() -> a promise of Plotly; without it, or where it fails, the chart is drawn by hand.
export function createSpeedupChart(words, loadPlotly) {
  const sub = el("p", { class: "ss-sub" });
  const plot = el("div", { class: "ss-plot" });
  const dot = el("i", { class: "ss-plotdot", "aria-hidden": "true", hidden: true });
  const note = el("p", { class: "ss-note" });
  const root = el("section", { class: "ss-race" }, el("h3", { text: words.race.title }), sub, el("div", { class: "ss-racebox" }, plot, dot), note);
  let Plotly = null, lines = null, now = null, axes = null, queued = false, painted = 0, bare = !loadPlotly;
  function paint() {
    queued = false;
    painted = performance.now();
    if (!now || !root.isConnected || !plot.clientWidth) return;
    if (bare) {
      plot.replaceChildren(speedupSvg({ ...lines, now }, plot.clientWidth, words.race));
      return;
    }
    if (!Plotly) return;
    const { traces, layout } = plotlyFigure(lines, coloursOf(root), words.race), width = plot.clientWidth;
    Plotly.react(plot, traces, { ...layout, width }, { displayModeBar: false, responsive: false });
    const { xaxis, yaxis } = plot.layout ?? {};
    axes = xaxis?.range && yaxis?.range ? { x: xaxis.range, y: yaxis.range, width } : null;
    place();
  }
  function place() {
    dot.hidden = !axes;
    if (!axes) return;
    const [x, y] = dotAt(now, axes);
    dot.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  }
  function queue() {
    if (queued) return;
    queued = true;
    setTimeout(() => requestAnimationFrame(paint), Math.max(0, painted + LAG - performance.now()));
  }
  function drawRun(trace) {
    lines = speedupLines(trace);
    say(sub, plainWords(lines, trace, words.race));
    queue();
  }
  function draw({ trace, step }) {
    now = speedupNow(lines, trace, step);
    say(note, words.race.now(now.n, now.t, now.plain));
    if (axes) place();
    else queue();
  }
  async function load() {
    try { Plotly = await loadPlotly(); } catch { bare = true; }
    queue();
  }
  function destroy() {
    sized?.disconnect();
    if (Plotly) Plotly.purge(plot);
  }
  if (loadPlotly) load();
  const sized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(queue);
  sized?.observe(plot);
  return { root, drawRun, draw, recolour: queue, destroy };
}
