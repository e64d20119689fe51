// One lane of the race: a method's text, written at the speed at which it was recorded.
import { el, say } from "../page/dom.js";
import { pieces } from "../page/glyphs.js";
import { reached } from "./race_model.js";

// A token; a dot where its text is not on record.
function tokenNode(lane, { text, kind }) {
  if (!lane.texts) return el("span", { class: "ss-dot", "aria-hidden": "true", text: "·" });
  const { lead, body, breaks } = pieces(text);
  return el("span", { class: "ss-racetok", "data-kind": kind }, lead, el("span", { class: "ss-mark", text: body }), breaks);
}

// lane: of race_model. note: a sentence below it. draw(t): the lane after t seconds.
export function createLane(w, lane, note) {
  const role = { role: "region", tabindex: "0", "aria-label": w.lane(lane.name) };
  const text = el("div", { class: "ss-lanetext", dir: "auto", "data-dots": lane.texts ? null : "yes", "data-hint": w.hint, ...role });
  const state = el("span", { class: "ss-lanestate" }), fill = el("i", {});
  const root = el("li", { class: "ss-lane", "data-method": lane.name },
    el("div", { class: "ss-lanehead" }, el("b", { text: lane.name }), state),
    el("div", { class: "ss-lanebar", "aria-hidden": "true" }, fill),
    text,
    note && el("p", { class: "ss-sub", text: note }),
  );
  let n = 0;   // tokens that are drawn

  function draw(t) {
    const to = reached(lane.tokens, t, n);
    while (text.childNodes.length > to) text.lastChild.remove();
    if (to > n) {
      text.append(...lane.tokens.slice(n, to).map((token) => tokenNode(lane, token)));
      text.scrollTop = text.scrollHeight;
    }
    n = to;
    const over = n === lane.tokens.length && n > 0;
    root.dataset.tokens = n;
    root.dataset.done = over ? "yes" : "no";
    fill.style.width = `${((100 * n) / Math.max(1, lane.tokens.length)).toFixed(1)}%`;
    say(state, over ? w.done(n, lane.end) : w.state(n, t));
  }
  return { root, draw };
}
