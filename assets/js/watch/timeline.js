// Three lanes on one clock, as measured: the draft's steps, the target's passes, and plain decoding of the same prompt.
import { arrange, el, say, set, svg } from "../page/dom.js";
import { plainTimes, tally } from "../trace/tally.js";

// Pure: the spans of each lane between two times, in seconds since start.
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

// Pure: the part of the clock to show: about eight rounds around this one, or everything.
export function clockWindow(trace, r, whole) {
  const ends = trace.rounds.map((x) => x.elapsed_s), last = ends.length - 1;
  if (whole) return [0, Math.max(ends[last] ?? 0, lanes(trace, 0, 0).end) || 1];
  const a = Math.max(0, Math.min(r - 4, last - 7)), b = Math.min(last, a + 7);
  return [a > 0 ? ends[a - 1] : 0, ends[b] || 1];
}

export function createTimeline(words, onRound) {
  let whole = false, key = "", lastView = null;
  const sub = el("p", { class: "ss-sub" });
  const button = (w, label) =>
    el("button", {
      type: "button",
      class: "ss-seg",
      text: label,
      onclick: () => {
        whole = w;
        if (lastView) draw(lastView, true);
      },
    });
  const near = button(false, words.timeline.near), all = button(true, words.timeline.whole);
  const band = svg("rect", { y: 0, height: 84, rx: 4, class: "ss-band" }), bars = [];   // kept from step to step
  const chart = svg("svg", {
    class: "ss-lanes",
    role: "img",
    height: 84,
    width: "100%",
    onclick: (e) => {
      if (e.target.dataset.r) onRound(Number(e.target.dataset.r));
    },
  });
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
    const [from, to] = clockWindow(trace, step.r, whole), l = lanes(trace, from, to), span = to - from;
    const x = (t) => Math.max(0, Math.min(100, (100 * (t - from)) / span));
    let used = 0;
    const bar = (s, y, cls) => {
      const a = x(s.a), w = x(s.b) - a;
      if (w <= 0) return;
      if (used === bars.length) bars.push(svg("rect", { height: 17, rx: 3 }));
      set(bars[used++], {
        x: `${a.toFixed(3)}%`,
        width: `${Math.max(0.12, w - Math.min(0.16, w / 5)).toFixed(3)}%`,
        y,
        class: `${cls}${s.r === step.r ? " ss-cur" : ""}`,
        "data-r": s.r,
      });
    };
    const lo = step.r ? trace.rounds[step.r - 1].elapsed_s : 0, hi = trace.rounds[step.r].elapsed_s;
    set(band, { x: `${x(lo)}%`, width: `${Math.max(0.2, x(hi) - x(lo))}%` });
    l.draft.forEach((s) => bar(s, 5, "ss-ldraft"));
    l.target.forEach((s) => bar(s, 33, "ss-ltarget"));
    l.plain.forEach((s) => bar(s, 61, l.measured ? "ss-lplain" : "ss-lplain ss-guess"));
    arrange(chart, band, ...bars.slice(0, used));
    chart.setAttribute("aria-label", `${words.timeline.title}: ${words.secs(from)} – ${words.secs(to)}`);
    say(axisFrom, words.secs(from));
    say(axisTo, words.secs(to));
    say(sub, words.timeline.sub(l.measured));
  }
  return { root, draw, reset() { key = ""; } };
}
