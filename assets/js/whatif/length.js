// Another draft length: expected tokens a round from this run's own acceptance by position, and what a round would cost, also in a pass
// that other requests fill.
import { el, say } from "../page/dom.js";
import { fixed } from "../page/numbers.js";
import { lengths } from "./model.js";

const HIGH = 72;   // of the highest bar, in pixels

export function createLength(words, changed) {
  const bars = el("div", { class: "ss-lengths", role: "radiogroup", "aria-label": words.label });
  const note = el("p", { class: "ss-note", "aria-live": "polite" });
  const fill = el("input", {
    type: "range",
    class: "ss-fill",
    min: 0,
    max: 1,
    step: 0.05,
    value: 0,
    "aria-label": words.load.label,
    oninput: () => {
      load = Number(fill.value);
      data = lengths(trace, load);
      show();
      changed?.();
    },
  });
  const fillName = el("output", {});
  const fillRow = el("label", { class: "ss-heatrow" }, el("span", { text: words.load.label }), fill, fillName);
  const fillNote = el("p", { class: "ss-sub", text: words.load.note });
  const one = el("span", { class: "ss-oneline", "aria-hidden": "true" }, el("span", { text: words.one }));
  const from = el("p", { class: "ss-sub" });
  const axis = el("span", { class: "ss-sub", "aria-hidden": "true" });
  const root = el("section", { class: "ss-wlength" },
    el("h3", { text: words.title }),
    from,
    el("div", { class: "ss-lengthbox" }, bars, one),
    axis,
    fillRow,
    fillNote,
    note,
  );
  let load = 0, data = null, chosen = null, picked = false, begin = null, trace = null, seen = "";

  function choose(k, focus = false) {
    chosen = k;
    picked = true;
    show();
    if (focus) bars.querySelector('[aria-checked="true"]').focus();
    changed?.();
  }
  bars.addEventListener("keydown", (e) => {
    const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
    if (!move || e.altKey || e.ctrlKey || e.metaKey || !data) return;
    e.preventDefault();
    e.stopPropagation();
    choose(Math.max(1, Math.min(data.rows.length, chosen + move)), true);
  });
  function show() {
    one.hidden = fillRow.hidden = fillNote.hidden = !data?.best;
    fill.value = load;
    say(fillName, words.load.value(load));
    fill.setAttribute("aria-valuetext", words.load.value(load));
    say(from, !data?.best ? "" : words.from(data));
    say(axis, data ? words.axis(Boolean(data.best)) : "");
    if (!data) { bars.replaceChildren(); say(note, words.none); return; }
    const top = Math.max(...data.rows.map((x) => x.speed ?? x.tokens), data.best ? 1 : 0);
    bars.replaceChildren(
      ...data.rows.map((x) =>
        el(
          "button",
          {
            type: "button",
            class: "ss-length",
            role: "radio",
            "aria-checked": String(x.k === chosen),
            tabindex: x.k === chosen ? "0" : "-1",
            "aria-label": words.row(x),
            title: words.row(x),
            "data-slow": x.speed !== null && x.speed < 1 ? "yes" : "no",
            "data-beyond": x.measured ? "no" : "yes",
            onclick: () => choose(x.k, true),
          },
          el("small", { text: fixed(x.speed ?? x.tokens, 2) }),
          el("i", { style: { height: `${(HIGH * (x.speed ?? x.tokens)) / top}px` } }),
          el("b", { text: String(x.k) }),
        ),
      ),
    );
    one.style.setProperty("--one", `${HIGH / top}px`);
    const x = data.rows[chosen - 1];
    say(
      note,
      [
        words.say(x),
        x.speed !== null && x.speed < 1 ? words.slow : "",
        data.best ? (data.rows[data.best - 1].speed < 1 ? words.noneBest : words.best(data.best)) : "",
        x.measured ? "" : words.beyond,
      ]
        .filter(Boolean)
        .join(" "),
    );
  }
  function draw(next) {
    const now = `${next.rounds.length}/${next.plain?.elapsed_s.length ?? 0}`;   // a live run grows, and plain decoding is timed after it
    if (next === trace && now === seen) return;
    if (next !== trace) { picked = begin !== null; chosen = begin; begin = null; }
    trace = next;
    seen = now;
    data = lengths(next, load);
    if (!picked) chosen = data?.own ?? 4;
    show();
  }
  // The lesson opens its step anew, at this length: one chosen before is no answer yet.
  function reset(at = null) {
    const was = trace;
    trace = null;
    begin = at;
    load = 0;
    if (was) draw(was);
  }
  return { root, draw, reset, get state() { const x = data?.rows[chosen - 1]; return { chosen, load, slow: Boolean(data?.best) && x.speed < 1 }; } };
}
