// The panel "What if": the chosen position of the run as a sandbox. Drawn only while it is open; nothing here asks a server,
// except the live branch, which sends what it needs through `send`.
import { createBranch } from "./branch.js";
import { el, say } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { createLaws } from "../distributions/pair.js";
import { closingTable, offered, tableFor } from "../trace/steps.js";
import { agree, atTemperature, ceiling, judge, sandbox, summary, withLaw } from "./model.js";
import { createLength } from "./length.js";
import { createRoll } from "./roll.js";
import { probLong } from "../page/numbers.js";

export function createWhatIf(words, { send = null, changed = () => {} } = {}) {
  const w = words.whatif, at = el("p", { class: "ss-sub" }), body = el("div", { class: "ss-whatif" });
  const laws = createLaws(w.laws, (p, q) => { cats = withLaw(withLaw(cats, "p", p), "q", q); touched = true; show(); });
  const slider = el("input", {
    type: "range",
    class: "ss-u",
    min: 0,
    max: 1,
    step: 0.001,
    "aria-label": w.u.label,
    oninput: () => {
      u = Number(slider.value);
      show();
    },
  });
  const verdict = el("p", { class: "ss-say2", "aria-live": "polite" });
  const was = el("p", { class: "ss-note" });
  const uName = el("output", { class: "ss-uvalue" });
  const heat = el("input", {
    type: "range",
    class: "ss-heat",
    min: 0,
    max: 2,
    step: 0.05,
    "aria-label": w.temperature.title,
    oninput: () => warm(Number(heat.value)),
  });
  const heatName = el("output", {});
  const heatNote = el("p", { class: "ss-note" });
  const overlapLine = el("p", { class: "ss-note ss-overlapline" });
  const reset = el("button", {
    type: "button",
    class: "ss-btn ss-wide",
    text: w.reset,
    onclick: () => {
      start();
      show();
    },
  });
  const roll = createRoll(w.roll, tell);
  const length = createLength(w.length, tell);
  const branch = createBranch(w.branch, send);
  const none = el("p", { class: "ss-sub", text: w.none });
  const places = el("div", { class: "ss-wgrid" },
    el("section", { class: "ss-wu" },
      el("h3", { text: w.u.title }),
      el("p", { class: "ss-sub", text: w.u.how }),
      el("div", { class: "ss-urow" }, slider, uName),
      verdict,
      was,
    ),
    roll.root,
    el("section", { class: "ss-wlaws" },
      el("div", { class: "ss-headrow" }, el("h3", { text: w.laws.title }), reset),
      el("p", { class: "ss-sub", text: w.laws.how }),
      laws.root,
      overlapLine,
      el("label", { class: "ss-heatrow" }, el("span", { text: w.temperature.title }), heat, heatName),
      heatNote,
    ),
  );
  body.append(none, places, length.root, branch.root);
  const root = el(
    "details",
    {
      class: "ss-panel ss-whatifpanel",
      ontoggle: () => {
        if (root.open && view) draw(view, true);
        tell();
      },
    },
    el("summary", {}, el("h2", { text: w.title })),
    el("p", { class: "ss-sub ss-wlead", text: w.lead }),
    at,
    body,
  );
  let view = null, key = "", box = null, cats = [], u = 0.5, d = null, t = 0, touched = false, overlap = null, rolledFor = null;

  function tell() { changed(); }
  function start() {
    cats = box.cats;
    touched = false;
    u = d.u ?? 0.5;
    t = Number(view.trace.run?.sampling?.temperature ?? 1);
    heat.value = t;
  }
  function warm(next) {
    const made = box && atTemperature(box, next);
    t = next;
    if (made) { cats = made; touched = true; }
    show();
  }
  const names = () => cats.map((c) => (c.others ? w.laws.others : short(c.text, 14)));

  function show() {
    if (!box) return;   // a hand quicker than the panel that has just opened
    const s = summary(cats), mine = s.cats[box.at], j = judge(mine, u), percentU = Math.min(1, j.threshold ?? 0) * 100;
    slider.value = u;
    slider.style.setProperty("--ss-keep", `${percentU.toFixed(2)}%`);
    say(uName, `u ${probLong(u)}`);
    const sentence =
      j.threshold === null
        ? w.u.impossible
        : j.certain
          ? w.u.certain(j.threshold)
          : w.u[j.verdict === "accepted" ? "kept" : "rejected"](u, j.threshold);
    say(verdict, sentence);
    slider.setAttribute("aria-valuetext", sentence);
    verdict.dataset.kind = j.verdict ?? "";
    say(
      was,
      [d.u === null ? w.u.wasGreedy : w.u.was(d.u), view.trace.run?.verify === "block" || view.trace.run?.verify === "typical" ? w.u.rule : ""]
        .filter(Boolean)
        .join(" "),
    );
    laws.draw(s.cats, names());
    const most = ceiling(cats);
    say(overlapLine, [w.laws.overlap(s.overlap), most < 0.98 ? w.laws.most(most) : ""].filter(Boolean).join(" "));
    const known = box.all.filter((c) => c.lp !== null).length;
    heat.disabled = !known;
    say(heatName, w.temperature.value(t));
    say(heatNote, known ? [w.temperature.note(known), send ? w.temperature.live : ""].filter(Boolean).join(" ") : w.temperature.missing);
    if (rolledFor !== cats) { rolledFor = cats; roll.set(agree(cats), names()); }
    overlap = s.overlap;
    root.dataset.verdict = j.verdict ?? "";
    tell();
  }

  function draw(next, force = false) {
    view = next;
    if (!root.open) return;
    const { trace, step, sel } = next, round = trace.rounds[step.r], now = `${step.r}/${sel}/${trace.rounds.length}/${trace.name ?? ""}`;
    length.draw(trace);
    if (now === key && !force) return;
    key = now;
    d = typeof sel === "number" ? round.drafted[sel] : null;
    const table = d ? tableFor(round, sel) : sel === "end" ? closingTable(round) : null;
    box = d && table ? sandbox(table, { drafted: d.id, drawn: round.emitted.at(-1)?.id ?? null }) : null;
    const several = d !== null && offered(round, d.parent).length > 1;   // p/q judges one token at a place
    if (box && (box.at < 0 || several)) box = null;
    say(none, several ? w.several : w.none);
    none.hidden = Boolean(box);
    places.hidden = !box;
    say(at, d ? w.at(d.text) : "");
    if (box) { start(); show(); }
    branch.draw(trace, step.r, table);
  }
  return {
    root,
    draw,
    length,
    reset() {
      key = "";
      box = null;
    },
    get state() {
      return {
        open: root.open,
        ready: Boolean(box) && root.open,
        u,
        verdict: box ? root.dataset.verdict : null,
        was: d?.verdict ?? null,
        changedU: Boolean(d) && d.u !== null && Math.abs(u - d.u) > 1e-6,
        touched,
        overlap: box ? overlap : null,
        temperature: t,
        rolled: roll.rolled,
        length: length.state,
      };
    },
  };
}
