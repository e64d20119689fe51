// Monte Carlo: rounds drawn in the browser, the histogram beside p, and the distance to p falling (or not) as the rounds add up.
import { el, say, svg } from "../page/dom.js";
import { countRail } from "../distributions/pair.js";
import { binomialBand, dice, distance, distanceBand, expectedDistance, lawOf, RULES, simulation } from "../distributions/acceptance.js";
import { prob, probLong, upTo } from "../page/numbers.js";
import { rich } from "../page/glossary.js";
import { area, chartBox, frame, line, logarithmic, label } from "../page/charts.js";

export const SIZES = [100, 1000, 10000, 100000, 1000000];
const FIRST = 100, LAST = 1000000;

// Pure: the rounds after which the distance is written down, ten a decade.
export const CHECKPOINTS = Array.from({ length: 41 }, (_, i) => Math.round(FIRST * 10 ** (i / 10)));

// Pure: the band of the distance at n rounds, from the band of sqrt(n) * distance at 100 rounds and in the limit.
export function bandAt(bands, n) {
  const t = Math.min(1, Math.log10(n / FIRST)), mix = (k) => (bands.first[k] * (1 - t) + bands.limit[k] * t) / Math.sqrt(n);
  return [mix(0), mix(1)];
}

const radios = (name, values, textOf, chosen, pick, legend) =>
  el("fieldset", { class: "ss-choice" },
    el("legend", { text: legend }),
    ...values.map((v) => {
      const input = el("input", { type: "radio", name, value: v, onchange: () => pick(v) });
      input.checked = v === chosen;
      return el("label", {}, input, el("span", { text: textOf(v) }));
    }),
  );

let made = 0;

export function createDice(words, brokenNote = null) {
  const w = words.dice, id = `ss-dice-${(made += 1)}`, quiet = () => window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  let cats = [], names = [], rule = "right", size = 10000, seed = 7, sim = null, tracks = {}, bands = null, frameId = 0, started = 0;
  const why = el("p", { class: "ss-rulewhy", "aria-live": "polite" }), verdict = el("p", { class: "ss-verdict", role: "status" });
  const go = el("button", { type: "button", class: "ss-btn ss-wide ss-go", onclick: () => (frameId ? stop() : start()) });
  const seedBox = el("input", {
    type: "number",
    class: "ss-seed",
    min: 0,
    max: 4294967295,
    step: 1,
    onchange: () => {
      seed = Math.min(4294967295, Math.max(0, Math.floor(Number(seedBox.value) || 0)));
      restart();
    },
  });
  const histogram = el("div", { class: "ss-histo" });
  const key = el("p", { class: "ss-keyline" },
    ...[
      ["agreed", w.kept],
      ["residual", w.resampled],
    ].map(([k, t]) => el("span", {}, el("i", { class: `ss-piece ss-${k}` }), t)),
    el("span", {}, el("i", { class: "ss-pkey" }), w.pMark),
    el("span", {}, el("i", { class: "ss-bandkey" }), w.band),
    el("span", { class: "ss-wrongkey" }, el("i", { class: "ss-wrongmark" }), w.wrong),
  );
  const table = el("table", {});
  const tableView = el("details", { class: "ss-tableview", ontoggle: () => paintHistogram() },
    el("summary", { text: w.table }),
    el("div", { class: "ss-tablescroll", tabindex: "0", role: "group", "aria-label": w.histogram }, table),
  );
  const chart = chartBox(w.table, drawDistance);
  const root = el("div", { class: "ss-dice" },
    el("div", { class: "ss-controls" },
      radios(
        `${id}-rule`,
        RULES,
        (r) => w.rules[r],
        rule,
        (r) => {
          rule = r;
          restart();
        },
        w.rule,
      ),
      el("div", { class: "ss-controlrow" },
        radios(
          `${id}-n`,
          SIZES,
          (n) => n.toLocaleString(document.documentElement.lang || "en"),
          size,
          (n) => {
            size = n;
            sayGo();
          },
          w.n,
        ),
        el("label", { class: "ss-seedlabel" }, el("span", { text: w.seed }), seedBox),
        el("button", {
          type: "button",
          class: "ss-btn ss-wide",
          text: w.reseed,
          onclick: () => {
            seed = (seed + 1) % 4294967296;
            seedBox.value = seed;
            restart();
          },
        }),
        go,
      ),
    ),
    why,
    el("div", { class: "ss-pairgrid" },
      el("section", {}, el("h3", { text: w.histogram }), histogram, key, tableView),
      el("section", {}, el("h3", { text: w.distance }), el("p", { class: "ss-sub" }, ...rich(words.glossary, w.distanceSub)), chart.root),
    ),
    verdict,
  );
  seedBox.value = seed;

  function sayGo() { say(go, frameId ? w.stop : w.draw(size)); go.dataset.running = frameId ? "yes" : "no"; }
  function stop() { cancelAnimationFrame(frameId); frameId = 0; sayGo(); paint(); }
  // The rounds that are chosen at once, so that there is something to see (of a million a part: a bar must be quick to pull).
  function restart() {
    cancelAnimationFrame(frameId);
    frameId = 0;
    sim = simulation(rule, cats, seed);
    tracks[rule] = [];
    advance(Math.min(size, 100000));
    sayGo();
    why.replaceChildren(...rich(words.glossary, w.why[rule] + (brokenNote && rule !== "right" ? ` ${brokenNote}` : "")));
    paint();
  }
  // Up to n rounds in all, writing the distance down at the checkpoints on the way.
  function advance(n) {
    for (const at of CHECKPOINTS) if (at > sim.n && at <= n) { sim.more(at - sim.n); note(); }
    if (n > sim.n) sim.more(n - sim.n);
  }
  function note() { tracks[rule].push([sim.n, distance(sim.law(), cats.map((c) => c.p))]); }
  function start() {
    sim = simulation(rule, cats, seed);
    tracks[rule] = [];
    started = performance.now();
    const seconds = quiet() ? 0 : 0.6 + 0.5 * Math.log10(size);   // by powers of ten, so that the early wobble is seen
    const tick = (now) => {
      const share = seconds ? Math.min(1, (now - started) / 1000 / seconds) : 1;
      const want = Math.min(size, Math.round(10 * (size / 10) ** share));
      advance(Math.min(want, sim.n + 120000));   // no frame longer than a moment
      if (sim.n >= size) { frameId = 0; sayGo(); } else frameId = requestAnimationFrame(tick);
      paint();
    };
    frameId = requestAnimationFrame(tick);
    sayGo();
  }

  function paint() {
    paintHistogram();
    chart.redraw();
    const p = cats.map((c) => c.p), n = sim.n, law = lawOf(rule, cats), off = law.map((x, i) => x - p[i]);
    const worst = off.reduce((b, x, i) => (Math.abs(x) > Math.abs(off[b]) ? i : b), 0), d = distance(sim.law(), p);
    root.dataset.n = n;
    root.dataset.rule = rule;
    root.dataset.inside = d <= bandAt(bands, n)[1] ? "yes" : "no";
    if (!frameId) say(verdict, w.verdict({ rule, n, d, band: bandAt(bands, n), wrong: distance(law, p), token: names[worst], off: off[worst] }));
  }

  function paintHistogram() {
    const n = Math.max(1, sim.n);
    const law = lawOf(rule, cats);
    const top = Math.max(0.02, ...cats.map((c, i) => Math.max(c.p, law[i], (sim.kept[i] + sim.resampled[i]) / n))) * 1.04;
    const at = (x) => `${((100 * x) / top).toFixed(2)}%`;
    histogram.setAttribute("role", "img");
    histogram.setAttribute("aria-label", w.histogramLabel(w.rules[rule], sim.n));
    histogram.style.setProperty("--ss-name", Math.min(16, Math.max(...names.map((x) => Array.from(x).length))));
    const bounds = cats.map((c) => binomialBand(sim.n, c.p).map((k) => k / n));
    histogram.replaceChildren(...cats.map((c, i) => {
      const share = (sim.kept[i] + sim.resampled[i]) / n, bad = share < bounds[i][0] || share > bounds[i][1];
      const bar = countRail({ kept: sim.kept[i] / n, resampled: sim.resampled[i] / n, band: bounds[i], p: c.p }, at);
      if (rule !== "right" && Math.abs(law[i] - c.p) > 1e-9) bar.append(el("i", { class: "ss-wrongmark", style: { left: at(law[i]) } }));
      return el("div", { class: "ss-historow", "data-off": bad ? "yes" : "no" },
        el("span", { class: `ss-lawname${c.others ? " ss-others" : ""}`, text: names[i], dir: "auto" }),
        bar,
        el("span", { class: "ss-num", text: prob(share) }),
      );
    }));
    key.querySelector(".ss-wrongkey").hidden = rule === "right";
    if (tableView.open)
      table.replaceChildren(
        el("caption", { class: "ss-vh", text: w.histogram }),
        el("thead", {}, el("tr", {}, ...w.histogramHead.map((h) => el("th", { scope: "col", text: h })))),
        el("tbody", {},
          ...cats.map((c, i) =>
            el("tr", {},
              el("th", { scope: "row", text: names[i], dir: "auto" }),
              ...[
                probLong(c.p),
                probLong((sim.kept[i] + sim.resampled[i]) / n),
                `${probLong(bounds[i][0])} – ${probLong(bounds[i][1])}`,
                probLong(law[i]),
              ].map((t) => el("td", { text: t })),
            ),
          ),
        ),
      );
  }

  function drawDistance(width) {
    const p = cats.map((c) => c.p), grid = CHECKPOINTS, floor = (x) => Math.max(x, 1e-5);
    const tops = Object.values(tracks).flat().map(([, d]) => d), top = Math.max(bandAt(bands, FIRST)[1], ...tops, 0.05) * 1.5;
    const node = frame({
      width,
      height: 270,
      margin: { l: 52, r: 12 },
      label: w.distanceLabel(
        Object.entries(tracks)
          .filter(([, t]) => t.length)
          .map(([r, t]) => w.distanceRow(w.rules[r], ...t.at(-1))),
      ),
      x: {
        make: (range) => logarithmic([FIRST, LAST], range),
        ticks: [100, 1000, 10000, 100000, 1000000],
        label: (t) => `10${"²³⁴⁵⁶"[Math.log10(t) - 2]}`,
        title: w.axisN,
      },
      y: { make: (range) => logarithmic([1e-4, Math.max(0.2, top)], range), ticks: [0.0001, 0.001, 0.01, 0.1], label: (t) => upTo(t, 4) },
      paint(g, box) {
        const clip = (y) => Math.min(box.bottom, Math.max(box.top, y)),
          at = (n, d) => [box.x(n), clip(box.y(floor(d)))];
        const upper = grid.map((n) => at(n, bandAt(bands, n)[1])),
          lower = grid.map((n) => at(n, bandAt(bands, n)[0]));
        g.append(
          area([...upper, ...lower.reverse()], "ss-bandarea"),
          line(
            grid.map((n) => at(n, expectedDistance(n, p))),
            "ss-expected",
          ),
        );
        const form = at(1300, expectedDistance(1300, p) / 4.4),
          ends = [form[1]],
          earlier = []; // heights that are taken; rules tried before
        g.append(label(...form, w.expected, "ss-soft"), label(box.right, at(1, expectedDistance(160000, p) / 5)[1], w.bandWord, "ss-soft", "end"));
        for (const [r, track] of Object.entries(tracks)) {
          if (!track.length) continue;
          const now = r === rule,
            wrong = distance(lawOf(r, cats), p);
          if (now && r !== "right" && wrong > 1e-4) {
            ends.push(Math.max(box.top + 9, box.y(wrong) - 7));
            g.append(
              svg("line", { class: "ss-floorline", x1: box.left, x2: box.right, y1: box.y(wrong), y2: box.y(wrong) }),
              label(box.right, ends.at(-1), w.floor(w.rules[r], wrong), "ss-bad", "end"),
            );
          }
          g.append(
            line(
              track.map(([n, d]) => at(n, d)),
              `ss-track ss-${r === "right" ? "good" : "wrongtrack"}${now ? "" : " ss-dim"}`,
            ),
          );
          if (!now) earlier.push([...at(...track.at(-1)), w.rules[r]]);
          if (now)
            g.append(
              svg("circle", {
                class: `ss-head ss-${r === "right" ? "good" : "wrongtrack"}`,
                cx: at(...track.at(-1))[0],
                cy: at(...track.at(-1))[1],
                r: 4.5,
              }),
            );
        }
        for (const [x, y, name] of earlier.sort((a, b) => a[1] - b[1])) {
          let low = y + 14;
          while (ends.some((e) => Math.abs(e - low) < 13)) low += 2;
          ends.push(low);
          g.append(label(Math.max(x, box.left + 150), Math.min(box.bottom - 4, low), name, "ss-soft", "end"));
        }
      },
    });
    const rows = Object.entries(tracks).flatMap(([r, t]) =>
      t
        .filter(([n]) => SIZES.includes(n))
        .map(([n, d]) => [
          w.rules[r],
          n.toLocaleString(document.documentElement.lang || "en"),
          probLong(d),
          bandAt(bands, n).map(probLong).join(" – "),
        ]),
    );
    return { node, table: { caption: w.distance, head: w.distanceHead, rows } };
  }

  // New laws: everything drawn so far belonged to others.
  function set(nextCats, nextNames) {
    cats = nextCats;
    names = nextNames;
    tracks = {};
    const p = cats.map((c) => c.p);
    bands = { first: distanceBand(p, FIRST, 600), limit: distanceBand(p) };
    restart();
  }
  return { root, set, stop: () => { if (frameId) stop(); }, get sim() { return sim; } };
}
