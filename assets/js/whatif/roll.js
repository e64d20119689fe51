// A position rolled a thousand times by the real rule: bars of what was kept and what was resampled, a mark where p lies, and whiskers
// where 95 % of honest counts lie.
import { el, say } from "../page/dom.js";
import { countRail } from "../distributions/pair.js";
import { binomialBand, distance, distanceBand, expectedDistance, simulation } from "../distributions/acceptance.js";
import { prob, probLong } from "../page/numbers.js";

export const ROLLS = 1000;

// Everybody's own dice: with one seed for all, all would see the same throw, and if it is a rare one, all a rare one.
const freshSeed = () => Math.floor(Math.random() * 2 ** 32);

export function createRoll(words, changed) {
  const note = el("p", { class: "ss-note", role: "status", text: words.nothing });
  const key = el("p", { class: "ss-sub", hidden: true, text: words.band });
  const body = el("tbody", {});
  const table = el("table", { class: "ss-rolls", hidden: true },
    el("caption", { class: "ss-vh", text: words.caption }),
    el("thead", { class: "ss-vh" }, el("tr", {}, ...words.head.map((h) => el("th", { scope: "col", text: h })))),
    body,
  );
  const button = el("button", { type: "button", class: "ss-btn ss-wide ss-roll", text: words.button, onclick: roll });
  const root = el("section", { class: "ss-wroll" }, el("h3", { text: words.title }), note, table, key, button);
  let cats = [], names = [], sim = null;

  function roll() {
    sim ||= simulation("right", cats, freshSeed());
    sim.more(ROLLS);
    draw();
    changed?.();
  }
  function draw() {
    table.hidden = key.hidden = !sim;
    say(button, sim ? words.again : words.button);
    if (!sim) { say(note, words.nothing); return; }
    const law = sim.law();
    const p = cats.map((c) => c.p);
    const bounds = p.map((x) => binomialBand(sim.n, x).map((k) => k / sim.n));
    const top = Math.max(...law, ...bounds.map((b) => b[1]), 1e-9);
    const w = (x) => `${((100 * x) / top).toFixed(2)}%`;
    body.replaceChildren(...cats.map((c, i) => {
      const kept = sim.kept[i] / sim.n, again = sim.resampled[i] / sim.n;
      return el("tr", {},
        el("th", { scope: "row", dir: "auto", class: c.others ? "ss-others" : null, text: names[i] }),
        el("td", { class: "ss-rollbar" },
          countRail({ kept, resampled: again, band: bounds[i], p: c.p }, w),
          el("span", { class: "ss-vh", text: prob(kept) }),
        ),
        el("td", { class: "ss-vh", text: prob(again) }),
        el("td", { class: "ss-vh", text: `${probLong(bounds[i][0])} – ${probLong(bounds[i][1])}` }),
        el("td", { class: "ss-num2", text: `${prob(law[i])} · p ${prob(c.p)}` }),
      );
    }));
    const band = distanceBand(p, sim.n).map((x) => x / Math.sqrt(sim.n));
    say(note, words.result(sim.n, distance(law, p), expectedDistance(sim.n, p), band));
  }
  return { root, set(next, called) { cats = next; names = called; sim = null; draw(); }, get rolled() { return sim?.n ?? 0; } };
}
