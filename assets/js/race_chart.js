// Running speed-up: tokens against wall time, both runs. Plotly is fetched late and updated in place; it never sees model text.
import { el, say } from "./dom.js";
import { plainTimes, plainTokensAt, tally } from "./tally.js";
import { raceSvg } from "./race_svg.js";
import { decimal } from "./numbers.js";
import { emittedAt } from "./steps.js";

const LAG = 300;   // ms between two drawings

// Pure: the two lines and the point of the current step.
export function raceData(trace, step) {
  const spec = { x: [0], y: [0] }, plain = { x: [0], y: [0] };
  let n = 0;
  for (const r of trace.rounds) { n += r.emitted.length; spec.x.push(r.elapsed_s); spec.y.push(n); }
  const { times, measured } = plainTimes(trace, tally(trace).tokens);
  times.forEach((t, i) => { plain.x.push(t); plain.y.push(i + 1); });
  const before = trace.rounds.slice(0, step.r).reduce((s, r) => s + r.emitted.length, 0);
  const now = { t: step.t, n: before + emittedAt(trace.rounds[step.r], step) };
  return { spec, plain, measured, now, plainNow: plainTokensAt(trace, step.t, tally(trace).tokens) };
}

export function raceFigure(data, c, words) {
  const hover = `%{y} ${words.y}, %{x:.2f} ${words.second}<extra></extra>`;
  const line = (xy, name, l) => ({ type: "scatter", mode: "lines", x: xy.x, y: xy.y, name, line: l, hovertemplate: hover });
  const traces = [line(data.spec, words.spec, { color: c.acc, width: 3, shape: "linear" }),
    line(data.plain, data.measured ? words.plain : words.plainEstimate, { color: c.dis, width: 2.5, dash: data.measured ? "solid" : "dash" }),
    { type: "scatter", mode: "markers", x: [data.now.t], y: [data.now.n], name: "", showlegend: false, hovertemplate: hover, marker: { size: 12, color: c.acc, line: { color: c.card, width: 3 } } }];
  const axis = { gridcolor: c.line, zeroline: false, linecolor: c.line, tickfont: { size: 11, color: c.soft }, automargin: true, fixedrange: true, rangemode: "tozero", nticks: 5 };
  const layout = { template: null, separators: `${decimal()} `, height: 250, margin: { l: 34, r: 10, t: 8, b: 34 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: c.font, color: c.ink, size: 12 },
    xaxis: { ...axis, ticksuffix: ` ${words.second}`, showgrid: false, title: { text: words.x, font: { size: 11, color: c.soft }, standoff: 6 } }, yaxis: { ...axis, title: { text: words.y, font: { size: 11, color: c.soft }, standoff: 6 } },
    legend: { x: 1, y: 0.03, xanchor: "right", yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: 11.5, color: c.ink } }, hovermode: "closest", hoverlabel: { font: { family: c.font } }, uirevision: "race" };
  return { traces, layout };
}

export function createRace(words, loadPlotly) {
  const sub = el("p", { class: "ss-sub" }), plot = el("div", { class: "ss-plot" }), note = el("p", { class: "ss-note" });
  const root = el("section", { class: "ss-race" }, el("h3", { text: words.race.title }), sub, plot, note);
  let Plotly = null, view = null, queued = false, sized = null, painted = 0, bare = !loadPlotly;
  const colours = () => {
    const s = getComputedStyle(root), v = (n) => s.getPropertyValue(`--ss-${n}`).trim();
    return { acc: v("acc"), dis: v("dis"), ink: v("ink"), soft: v("soft"), line: v("line"), card: v("card"), font: s.fontFamily };
  };
  function paint() {
    queued = false;
    painted = performance.now();
    if (!view || !root.isConnected || !plot.clientWidth) return;
    if (bare) { plot.replaceChildren(raceSvg(raceData(view.trace, view.step), plot.clientWidth, words.race)); return; }
    if (!Plotly) return;
    const { traces, layout } = raceFigure(raceData(view.trace, view.step), colours(), words.race);
    Plotly.react(plot, traces, { ...layout, width: plot.clientWidth }, { displayModeBar: false, responsive: false });
  }
  // Redrawing costs Plotly some 20 ms: the point may lag a scrubbing hand by a moment, the page may not.
  const queue = () => { if (!queued) { queued = true; setTimeout(() => requestAnimationFrame(paint), Math.max(0, painted + LAG - performance.now())); } };
  function draw(next) {
    view = next;
    const d = raceData(next.trace, next.step);
    const running = next.trace.source === "live" && next.trace.totals && next.trace.totals.stop !== "cancelled";
    say(sub, d.measured ? words.race.measured : running ? words.race.running(next.trace.progress) : d.plainNow.known ? words.race.estimate : words.race.alone);
    say(note, words.race.now(d.now.n, d.now.t, d.plainNow));
    queue();
  }
  if (loadPlotly) loadPlotly().then((p) => { Plotly = p; queue(); }).catch(() => { bare = true; queue(); });
  if (typeof ResizeObserver !== "undefined") { sized = new ResizeObserver(queue); sized.observe(plot); }
  return { root, draw, recolour: queue, destroy() { sized?.disconnect(); if (Plotly) Plotly.purge(plot); } };
}
