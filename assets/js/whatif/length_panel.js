// Another draft length: the speed-up of each from this run's own acceptance by position, also in a pass that other requests fill.
import { el, say } from "../page/dom.js";
import { fixed } from "../page/numbers.js";
import { lengths } from "./lengths.js";

const HIGH = 72;   // of the highest bar, in pixels

// The slider that fills the pass with other requests. change(load): it was moved.
function createLoad(w, change) {
  const moved = () => change(Number(slider.value));
  const slider = el("input", { type: "range", class: "ss-fill", min: 0, max: 1, step: 0.05, value: 0, "aria-label": w.label, oninput: moved });
  const value = el("output", {}), row = el("label", { class: "ss-heatrow" }, el("span", { text: w.label }), slider, value);
  const note = el("p", { class: "ss-sub", text: w.note });
  function draw(load, known) {
    row.hidden = note.hidden = !known;
    slider.value = load;
    say(value, w.value(load));
    slider.setAttribute("aria-valuetext", w.value(load));
  }
  return { nodes: [row, note], draw };
}

// The bars, one for each length, as radio buttons. choose(k): one was pressed. The line marks plain decoding's speed.
function createBars(w, choose) {
  const bars = el("div", { class: "ss-lengths", role: "radiogroup", "aria-label": w.label });
  const one = el("span", { class: "ss-oneline", "aria-hidden": "true" }, el("span", { text: w.one }));
  const pick = (k) => {
    choose(k);
    bars.querySelector('[aria-checked="true"]').focus();
  };
  let now = null;   // {data, chosen} as drawn
  bars.addEventListener("keydown", (e) => {
    const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
    if (!move || e.altKey || e.ctrlKey || e.metaKey || !now?.data) return;
    e.preventDefault();
    e.stopPropagation();
    pick(Math.max(1, Math.min(now.data.rows.length, now.chosen + move)));
  });

  function bar(x, chosen, top) {
    const value = x.speed ?? x.tokens, checked = x.k === chosen;
    const attrs = { class: "ss-length", role: "radio", "aria-checked": String(checked), tabindex: checked ? "0" : "-1" };
    const marks = { "data-slow": x.speed !== null && x.speed < 1 ? "yes" : "no", "data-beyond": x.measured ? "no" : "yes" };
    return el("button", { type: "button", ...attrs, "aria-label": w.row(x), title: w.row(x), ...marks, onclick: () => pick(x.k) },
      el("small", { text: fixed(value, 2) }),
      el("i", { style: { height: `${(HIGH * value) / top}px` } }),
      el("b", { text: String(x.k) }),
    );
  }
  function draw(data, chosen) {
    now = { data, chosen };
    one.hidden = !data?.best;
    if (!data) {
      bars.replaceChildren();
      return;
    }
    const top = Math.max(...data.rows.map((x) => x.speed ?? x.tokens), data.best ? 1 : 0);
    bars.replaceChildren(...data.rows.map((x) => bar(x, chosen, top)));
    one.style.setProperty("--one", `${HIGH / top}px`);
  }
  return { root: el("div", { class: "ss-lengthbox" }, bars, one), draw };
}

// What is said of the chosen length.
function sentences(data, chosen, w) {
  const x = data.rows[chosen - 1], best = data.best ? data.rows[data.best - 1] : null;
  const slow = x.speed !== null && x.speed < 1 ? w.slow : "", bestWords = best ? (best.speed < 1 ? w.noneBest : w.best(data.best)) : "";
  return [w.say(x), slow, bestWords, x.measured ? "" : w.beyond].filter(Boolean).join(" ");
}

// changed(): a length was chosen or the load moved.
export function createLength(words, changed) {
  const bars = createBars(words, choose), load = createLoad(words.load, fill);
  const from = el("p", { class: "ss-sub" }), axis = el("span", { class: "ss-sub", "aria-hidden": "true" });
  const note = el("p", { class: "ss-note", "aria-live": "polite" });
  const root = el("section", { class: "ss-wlength" }, el("h3", { text: words.title }), from, bars.root, axis, ...load.nodes, note);
  let filled = 0, data = null, chosen = null, picked = false, begin = null, trace = null, seen = "";

  function choose(k) {
    chosen = k;
    picked = true;
    show();
    changed?.();
  }
  function fill(x) {
    filled = x;
    data = lengths(trace, filled);
    show();
    changed?.();
  }
  function show() {
    load.draw(filled, Boolean(data?.best));
    bars.draw(data, chosen);
    say(from, data?.best ? words.from(data) : "");
    say(axis, data ? words.axis(Boolean(data.best)) : "");
    say(note, data ? sentences(data, chosen, words) : words.none);
  }
  function draw(next) {
    const now = `${next.rounds.length}/${next.plain?.elapsed_s.length ?? 0}`;   // a live run grows, and plain decoding is timed after it
    if (next === trace && now === seen) return;
    if (next !== trace) {
      picked = begin !== null;
      chosen = begin;
      begin = null;
    }
    trace = next;
    seen = now;
    data = lengths(next, filled);
    if (!picked) chosen = data?.own ?? 4;
    show();
  }
  // The lesson begins its step anew, at the length `at`: what was chosen before does not count.
  function reset(at = null) {
    const was = trace;
    trace = null;
    begin = at;
    filled = 0;
    if (was) draw(was);
  }
  return {
    root,
    draw,
    reset,
    get state() { return { chosen, load: filled, slow: Boolean(data?.best) && data.rows[chosen - 1].speed < 1 }; },
  };
}
