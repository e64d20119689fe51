// Three lanes on one clock, as measured: the draft's steps, the target's passes, and plain decoding of the same prompt.
import { arrange, el, say, set, svg } from "../page/dom.js";
import { plainTimes, tally } from "../trace/tally.js";

// Pure: the spans of each lane that touch the time between `from` and `to`, in seconds since the start.
export function lanes(trace, from, to) {
  const draft = [], target = [], plain = [];
  let before = 0;
  trace.rounds.forEach((r, i) => {
    if (r.elapsed_s >= from && before <= to) {
      const n = r.drafted.length;
      for (let k = 0; k < n; k++) draft.push({ r: i, a: before + (r.draft_s * k) / n, b: before + (r.draft_s * (k + 1)) / n });
      target.push({ r: i, a: before + r.draft_s, b: before + r.draft_s + r.verify_s });
    }
    before = r.elapsed_s;
  });
  const { times, measured } = plainTimes(trace, tally(trace).tokens);
  times.forEach((t, k) => {
    const a = k ? times[k - 1] : 0;
    if (t >= from && a <= to) plain.push({ k, a, b: t });
  });
  return { draft, target, plain, measured, end: Math.max(before, times.at(-1) ?? 0) };
}

// Pure: the part of the clock to show, [from, to]: the eight rounds around round r, or the whole run.
export function clockWindow(trace, r, whole) {
  const ends = trace.rounds.map((x) => x.elapsed_s), last = ends.length - 1;
  if (whole) return [0, Math.max(ends[last] ?? 0, lanes(trace, 0, 0).end) || 1];
  const a = Math.max(0, Math.min(r - 4, last - 7)), b = Math.min(last, a + 7);
  return [a > 0 ? ends[a - 1] : 0, ends[b] || 1];
}

// The bars of the lanes, kept from step to step.
function createBars(chart) {
  const band = svg("rect", { y: 0, height: 84, rx: 4, class: "ss-band" }), bars = [];
  // The round r from `begin` to `end` is marked. lanesAt: [spans, y, class] of each lane. x(seconds): percent of the width.
  function draw(r, begin, end, lanesAt, x) {
    let used = 0;
    set(band, { x: `${x(begin)}%`, width: `${Math.max(0.2, x(end) - x(begin))}%` });
    for (const [spans, y, cls] of lanesAt) {
      for (const s of spans) {
        const from = x(s.a), width = x(s.b) - from;
        if (width <= 0) continue;
        if (used === bars.length) bars.push(svg("rect", { height: 17, rx: 3 }));
        const shown = Math.max(0.12, width - Math.min(0.16, width / 5));   // a little space between two bars
        const mark = s.r === r ? " ss-cur" : "";
        set(bars[used++], { x: `${from.toFixed(3)}%`, width: `${shown.toFixed(3)}%`, y, class: `${cls}${mark}`, "data-r": s.r });
      }
    }
    arrange(chart, band, ...bars.slice(0, used));
  }
  return { draw };
}

// onRound(r): a bar was pressed.
export function createTimeline(words, onRound) {
  let whole = false, key = "", lastView = null;
  const sub = el("p", { class: "ss-sub" });
  function show(all) {
    whole = all;
    if (lastView) draw(lastView, true);
  }
  const button = (label, all) => el("button", { type: "button", class: "ss-seg", text: label, onclick: () => show(all) });
  const near = button(words.timeline.near, false), all = button(words.timeline.whole, true);
  const pressed = (e) => { if (e.target.dataset.r) onRound(Number(e.target.dataset.r)); };
  const chart = svg("svg", { class: "ss-lanes", role: "img", height: 84, width: "100%", onclick: pressed }), bars = createBars(chart);
  const axisFrom = el("span"), axisTo = el("span"), axis = el("div", { class: "ss-axis" }, axisFrom, axisTo);
  const names = el("div", { class: "ss-lanenames", "aria-hidden": "true" },
    ...["draft", "target", "plain"].map((n) => el("span", { text: words.timeline[n] })),
  );
  const root = el("section", { class: "ss-timeline" },
    el("div", { class: "ss-headrow" },
      el("h3", { text: words.timeline.title }),
      sub,
      el("span", { class: "ss-segs", role: "group", "aria-label": words.timeline.title }, near, all),
    ),
    el("div", { class: "ss-lanerow" }, names, el("div", { class: "ss-lanebox" }, chart, axis)),
  );

  function draw(view, force = false) {
    lastView = view;
    const { trace, step } = view;
    const now = `${step.r}/${trace.rounds.length}/${Boolean(trace.plain)}/${whole}`;
    if (now === key && !force) return;
    key = now;
    near.setAttribute("aria-pressed", String(!whole));
    all.setAttribute("aria-pressed", String(whole));
    const [from, to] = clockWindow(trace, step.r, whole), { draft, target, plain, measured } = lanes(trace, from, to);
    const x = (t) => Math.max(0, Math.min(100, (100 * (t - from)) / (to - from)));
    const begin = step.r ? trace.rounds[step.r - 1].elapsed_s : 0, end = trace.rounds[step.r].elapsed_s;
    const lanesAt = [[draft, 5, "ss-ldraft"], [target, 33, "ss-ltarget"], [plain, 61, measured ? "ss-lplain" : "ss-lplain ss-guess"]];
    bars.draw(step.r, begin, end, lanesAt, x);
    chart.setAttribute("aria-label", `${words.timeline.title}: ${words.secs(from)} – ${words.secs(to)}`);
    say(axisFrom, words.secs(from));
    say(axisTo, words.secs(to));
    say(sub, words.timeline.sub(measured));
  }
  return { root, draw, reset() { key = ""; } };
}
