// The shares of many draws as bars beside p: accepted and resampled stacked, with the band in which 95 % of honest counts lie.
import { binomialBand, distributionOf } from "../distributions/acceptance.js";
import { countRail } from "../distributions/pair.js";
import { el } from "../page/dom.js";
import { prob, probLong } from "../page/numbers.js";
import { fillTable, tableBehind } from "../page/table.js";

const key = (cls, text, more = "") => el("span", { class: more || null }, el("i", { class: cls }), text);

// draw({cats, names, rule, sim}): sim is the simulation of that rule. w: the words of the dice.
export function createHistogram(w) {
  const bars = el("div", { class: "ss-histo", role: "img" });
  const wrong = key("ss-wrongmark", w.wrong, "ss-wrongkey");
  const legend = el("p", { class: "ss-keyline" },
    key("ss-piece ss-agreed", w.accepted),
    key("ss-piece ss-residual", w.resampled),
    key("ss-pkey", w.pMark),
    key("ss-bandkey", w.band),
    wrong,
  );
  let shown = null;
  const { table, details } = tableBehind(w.table, w.histogram, { ontoggle: () => { if (shown) draw(shown); } });
  const root = el("section", {}, el("h3", { text: w.histogram }), bars, legend, details);

  // One row for each token: what the rule draws from in the long run, the shares so far, and the band of honest counts.
  function rowsOf({ cats, names, rule, sim }) {
    const n = Math.max(1, sim.n), exact = distributionOf(rule, cats), shares = sim.shares();
    return cats.map((c, i) => {
      const band = binomialBand(sim.n, c.p).map((k) => k / n);
      return { c, name: names[i], accepted: sim.accepted[i] / n, resampled: sim.resampled[i] / n, share: shares[i], exact: exact[i], band };
    });
  }

  function bar({ c, name, accepted, resampled, share, exact, band }, rule, at) {
    const rail = countRail({ accepted, resampled, band, p: c.p }, at);
    if (rule !== "right" && Math.abs(exact - c.p) > 1e-9) rail.append(el("i", { class: "ss-wrongmark", style: { left: at(exact) } }));
    return el("div", { class: "ss-historow", "data-off": share < band[0] || share > band[1] ? "yes" : "no" },
      el("span", { class: `ss-distname${c.others ? " ss-others" : ""}`, text: name, dir: "auto" }),
      rail,
      el("span", { class: "ss-num", text: prob(share) }),
    );
  }

  function draw(state) {
    shown = state;
    const rows = rowsOf(state), { rule, sim } = state;
    const top = Math.max(0.02, ...rows.map((r) => Math.max(r.c.p, r.exact, r.share))) * 1.04;
    const at = (x) => `${((100 * x) / top).toFixed(2)}%`;
    bars.setAttribute("aria-label", w.histogramLabel(w.rules[rule], sim.n));
    bars.style.setProperty("--ss-name", Math.min(16, Math.max(...state.names.map((x) => Array.from(x).length))));
    bars.replaceChildren(...rows.map((r) => bar(r, rule, at)));
    wrong.hidden = rule === "right";
    if (!details.open) return;
    const cells = (r) => [r.name, probLong(r.c.p), probLong(r.share), r.band.map(probLong).join(" – "), probLong(r.exact)];
    fillTable(table, { caption: w.histogram, head: w.histogramHead, rows: rows.map(cells) });
  }
  return { root, draw };
}
