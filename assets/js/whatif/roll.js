// A position drawn a thousand times by the real rule: bars of what was accepted and what was resampled, with a mark at p and the band of
// honest counts.
import { binomialBand, distance, distanceBand, expectedDistance, simulation } from "../distributions/acceptance.js";
import { countRail } from "../distributions/pair.js";
import { el, say } from "../page/dom.js";
import { prob, probLong } from "../page/numbers.js";
import { caption } from "../page/table.js";

const ROLLS = 1000;

// Every visitor has dice of their own: with one seed for all, all would see the same throw, and if it is a rare one, all a rare one.
const freshSeed = () => Math.floor(Math.random() * 2 ** 32);

// changed(): a thousand more were drawn.
export function createRoll(words, changed) {
  const note = el("p", { class: "ss-note", role: "status", text: words.nothing });
  const key = el("p", { class: "ss-sub", hidden: true, text: words.band }), body = el("tbody", {});
  const head = el("thead", { class: "ss-vh" }, el("tr", {}, ...words.head.map((h) => el("th", { scope: "col", text: h }))));
  const table = el("table", { class: "ss-rolls", hidden: true }, caption(words.caption), head, body);
  const button = el("button", { type: "button", class: "ss-btn ss-wide ss-roll", text: words.button, onclick: roll });
  const root = el("section", { class: "ss-wroll" }, el("h3", { text: words.title }), note, table, key, button);
  let cats = [], names = [], sim = null;

  function roll() {
    sim ||= simulation("right", cats, freshSeed());
    sim.more(ROLLS);
    draw();
    changed?.();
  }
  function row(i, share, band, at) {
    const c = cats[i], accepted = sim.accepted[i] / sim.n, resampled = sim.resampled[i] / sim.n;
    return el("tr", {},
      el("th", { scope: "row", dir: "auto", class: c.others ? "ss-others" : null, text: names[i] }),
      el("td", { class: "ss-rollbar" },
        countRail({ accepted, resampled, band, p: c.p }, at),
        el("span", { class: "ss-vh", text: prob(accepted) }),
      ),
      el("td", { class: "ss-vh", text: prob(resampled) }),
      el("td", { class: "ss-vh", text: band.map(probLong).join(" – ") }),
      el("td", { class: "ss-num2", text: `${prob(share)} · p ${prob(c.p)}` }),
    );
  }
  function draw() {
    table.hidden = key.hidden = !sim;
    say(button, sim ? words.again : words.button);
    if (!sim) {
      say(note, words.nothing);
      return;
    }
    const shares = sim.shares(), p = cats.map((c) => c.p), bands = p.map((x) => binomialBand(sim.n, x).map((k) => k / sim.n));
    const top = Math.max(...shares, ...bands.map((b) => b[1]), 1e-9), at = (x) => `${((100 * x) / top).toFixed(2)}%`;
    body.replaceChildren(...cats.map((_, i) => row(i, shares[i], bands[i], at)));
    const band = distanceBand(p, sim.n).map((x) => x / Math.sqrt(sim.n));
    say(note, words.result(sim.n, distance(shares, p), expectedDistance(sim.n, p), band));
  }
  // Other categories: what was drawn before does not belong to them.
  function set(next, called) {
    cats = next;
    names = called;
    sim = null;
    draw();
  }
  return { root, set, get rolled() { return sim?.n ?? 0; } };
}
