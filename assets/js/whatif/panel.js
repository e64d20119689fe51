// The panel "What if": the chosen position of the run, with another u, other distributions, another draft length, or another token. It is
// drawn only while it is open. Nothing here asks the server, except a live branch, through `send`.
import { el, say } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { closingTable, offered, tableFor } from "../trace/steps.js";
import { createBranch } from "./branch.js";
import { createDistributions } from "./distributions.js";
import { createLength } from "./length_panel.js";
import { createRoll } from "./roll.js";
import { agree, atTemperature, judge, sandbox, summary, withValues } from "./sandbox.js";
import { createUniform } from "./uniform.js";

// The table of a selection, and its sandbox. A place with siblings has none: p/q is the acceptance probability of a single token only.
function placeOf(round, sel) {
  const d = typeof sel === "number" ? round.drafted[sel] : null;
  const table = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
  const several = d !== null && offered(round, d.parent).length > 1;
  const box = d && table && !several ? sandbox(table, { drafted: d.id, drawn: round.emitted.at(-1)?.id ?? null }) : null;
  return { d, table, several, box: box && box.at >= 0 ? box : null };
}

// send(request): a live branch. changed(): something in here is another now.
export function createWhatIf(words, { send = null, changed = () => {} } = {}) {
  const w = words.whatif, about = el("p", { class: "ss-sub" }), none = el("p", { class: "ss-sub", text: w.none });
  const uniform = createUniform(w.u, (x) => { u = x; show(); });
  const distributions = createDistributions(w, Boolean(send), changeDistributions);
  const roll = createRoll(w.roll, tell), length = createLength(w.length, tell), branch = createBranch(w.branch, send);
  const parts = el("div", { class: "ss-wgrid" }, uniform.root, roll.root, distributions.root);
  const root = el("details", { class: "ss-panel ss-whatifpanel", ontoggle: toggled },
    el("summary", {}, el("h2", { text: w.title })),
    el("p", { class: "ss-sub ss-wlead", text: w.lead }),
    about,
    el("div", { class: "ss-whatif" }, none, parts, length.root, branch.root),
  );
  let view = null, key = "", place = { d: null, box: null };
  let cats = [], u = 0.5, temperature = 0, touched = false, overlap = null, outcome = null, rolledFor = null;

  function tell() { changed(); }
  function toggled() {
    if (root.open && view) draw(view, true);
    tell();
  }
  // Everything as recorded.
  function start() {
    cats = place.box.cats;
    touched = false;
    u = place.d.u ?? 0.5;
    temperature = Number(view.trace.run?.sampling?.temperature ?? 1);
  }
  function changeDistributions({ p, q, temperature: next, reset }) {
    if (!place.box) return;
    if (reset) start();
    else if (next !== undefined) heat(next);
    else {
      cats = withValues(withValues(cats, "p", p), "q", q);
      touched = true;
    }
    show();
  }
  function heat(next) {
    temperature = next;
    const heated = atTemperature(place.box, next);
    if (!heated) return;
    cats = heated;
    touched = true;
  }

  function show() {
    const { d, box } = place;
    if (!box) return;   // a reader can be quicker than the panel that is about to open
    const now = summary(cats), judged = judge(now.cats[box.at], u), names = cats.map((c) => (c.others ? w.pair.others : short(c.text, 14)));
    uniform.draw(u, judged, d, view.trace.run?.verify);
    distributions.draw(now, names, temperature, box.all.filter((c) => c.lp !== null).length);
    if (rolledFor !== cats) {
      rolledFor = cats;
      roll.set(agree(cats), names);
    }
    overlap = now.overlap;
    outcome = judged.verdict;
    root.dataset.verdict = outcome ?? "";
    tell();
  }

  function draw(next, force = false) {
    view = next;
    if (!root.open) return;
    const { trace, step, sel } = next, now = `${step.r}/${sel}/${trace.rounds.length}/${trace.name ?? ""}`;
    length.draw(trace);
    if (now === key && !force) return;
    key = now;
    place = placeOf(trace.rounds[step.r], sel);
    say(none, place.several ? w.several : w.none);
    none.hidden = Boolean(place.box);
    parts.hidden = !place.box;
    say(about, place.d ? w.at(place.d.text) : "");
    if (place.box) {
      start();
      show();
    }
    branch.draw(trace, step.r, place.table);
  }
  function reset() {
    key = "";
    place = { ...place, box: null };
  }
  // What the lesson looks at.
  function state() {
    const { d, box } = place;
    return {
      open: root.open,
      ready: Boolean(box) && root.open,
      u,
      verdict: box ? (outcome ?? "") : null,
      was: d?.verdict ?? null,
      changedU: Boolean(d) && d.u !== null && Math.abs(u - d.u) > 1e-6,
      touched,
      overlap: box ? overlap : null,
      temperature,
      rolled: roll.rolled,
      length: length.state,
    };
  }
  return { root, draw, length, reset, get state() { return state(); } };
}
