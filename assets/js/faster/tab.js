// The tab "Why it is faster, and when not": measured costs, the closed form on them, a run as a point on it, acceptance by position.
import { el, say } from "../page/dom.js";
import { alphaChart, costChart, lengthChart, positionChart } from "./charts.js";
import { expectation, MOST_DRAFTS, propagated, ratiosFor, runFacts } from "./model.js";
import { prose, rich } from "../page/glossary.js";
import { short } from "../page/glyphs.js";
import { fixed, probLong, ratio } from "../page/numbers.js";
import { cleanRuns, createRunChips, liveRun, loadRun } from "../trace/runs.js";
import { believable, costsOf, filled, floorSeconds, passParts, passPoints, passSeconds } from "../trace/theory.js";
import { FASTER_EN } from "../words/en/faster.js";

let wished = false, trusted = null;   // this visitor asked for a measurement (another one's changes nothing here); the last that can be true

export function mountFaster(root, { runs = [], words = FASTER_EN, measure = null } = {}) {
  const recorded = cleanRuns(runs), w = words.model;
  let calibration = trusted;
  let refused = false;
  let entry = null;
  let trace = null;
  let facts = null;
  let source = trusted ? "machine" : "run";
  let state = { alpha: 0.6, k: 4, c: 0.1, load: 0, v: () => 1 };
  let expected = expectation(state);
  let queued = 0;
  const costsNow = () => (source === "machine" && calibration ? calibration : costsOf(trace?.run?.costs ?? entry?.costs ?? {}));
  // A recording was timed at its own costs: its measured speed is no point among those of this machine. Nor is a tree one on a chain's curves.
  const elsewhere = () => source === "machine" && entry?.name !== "live";
  function shown() {
    return {
      state: { ...state, v: filled(state.v, state.load) },
      facts: !facts || facts.tree ? null : { ...facts, measured: elsewhere() ? null : facts.measured },
      expected,
    };
  }
  const charts = {
    cost: costChart(words, costsNow),
    length: lengthChart(words, shown),
    alpha: alphaChart(words, shown),
    position: positionChart(words, () => facts?.positions ?? []),
  };

  const from = el("p", { class: "ss-sub" });
  const costWords = el("p", { class: "ss-say" });
  const floorWords = el("p", { class: "ss-note" });
  const status = el("p", { class: "ss-sub ss-measuring", role: "status" });
  const ask = () => { wished = button.disabled = true; say(status, words.costs.busy); measure?.(); };
  const button = el("button", { type: "button", class: "ss-btn ss-wide", "data-act": "measure", text: words.costs.measure, onclick: ask });
  const chips = createRunChips(w.run, (e) => (e.name === "live" ? w.live : w.name(e)), open);
  const runStatus = el("p", { class: "ss-sub", role: "status" });
  const sourceBox = el("fieldset", { class: "ss-choice" },
    el("legend", { text: w.costs }),
    ...["machine", "run"].map((s) =>
      el("label", {},
        el("input", {
          type: "radio",
          name: "ss-costs-from",
          value: s,
          onchange: () => {
            source = s;
            fromRun(false);
          },
        }),
        el("span", { "data-costs": s, text: w.costsFrom[s] }),
      ),
    ),
  );
  const slider = (key, min, max, step, show) => {
    const out = el("output", {});
    const input = el("input", {
      type: "range",
      class: "ss-range",
      min,
      max,
      step,
      "data-key": key,
      "aria-label": w[key],
      oninput: () => {
        state = { ...state, [key]: Number(input.value) };
        queue();
      },
    });
    return {
      root: el("label", { class: "ss-slider" }, el("span", {}, `${w[key]} `, out), input),
      set(x) {
        input.value = x;
        out.textContent = show(x);
        input.setAttribute("aria-valuetext", show(x));
      },
    };
  };
  const sliders = {
    alpha: slider("alpha", 0, 1, 0.01, (x) => probLong(x)),
    k: slider("k", 1, MOST_DRAFTS, 1, String),
    c: slider("c", 0, 1, 0.005, (x) => fixed(x, 2)),
    load: slider("load", 0, 1, 0.05, (x) => w.loaded(x)),
  };
  const vOut = el("output", {});
  const vName = el("span", {});
  const vBox = el("p", { class: "ss-slider" }, vName, " ", vOut);
  const big = el("b");
  const bigLabel = el("span");
  const why = el("p", { class: "ss-say", "aria-live": "polite" });
  const breaks = el("p", { class: "ss-note" });
  const today = el("p", { class: "ss-say" });
  const slowRun = el("p", { class: "ss-slowwords" });
  const positionWords = el("p", { class: "ss-say" });
  const positionPanel = el("section", { class: "ss-panel" },
    el("h2", { text: words.position.title }),
    prose(words.glossary, words.position.lead, "ss-lead"),
    charts.position.root,
    positionWords,
  );
  const result = el("div", { class: "ss-expected-result", "data-slow": "no" },
    el("div", { class: "ss-stat ss-big" }, big, bigLabel),
    el("div", {}, why, breaks),
  );
  const legend = el("p", { class: "ss-keyline" },
    el("span", {}, el("i", { class: "ss-pointkey" }), w.point),
    el("span", { class: "ss-diamondline" }, el("i", { class: "ss-diamondkey" }), w.diamond),
  );
  root.replaceChildren(
    el("div", { class: "ss ss-explain" },
      el("section", { class: "ss-panel" },
        el("h2", { text: words.costs.title }),
        prose(words.glossary, words.costs.lead, "ss-lead"),
        el("div", { class: "ss-chartgrid" },
          el("div", {}, el("h3", { text: words.costs.chart }), from, charts.cost.root),
          el("div", { class: "ss-besides" }, costWords, floorWords, button, el("p", { class: "ss-sub", text: words.costs.measureNote }), status),
        ),
      ),
      el("section", { class: "ss-panel ss-model" },
        el("h2", { text: w.title }),
        prose(words.glossary, w.lead, "ss-lead"),
        el("div", { class: "ss-controlrow" }, chips.root, sourceBox),
        runStatus,
        el("div", { class: "ss-sliders" },
          sliders.alpha.root,
          sliders.k.root,
          sliders.c.root,
          vBox,
          sliders.load.root,
          el("button", { type: "button", class: "ss-btn ss-wide", "data-act": "reset", text: w.reset, onclick: () => fromRun(true) }),
        ),
        prose(words.glossary, w.many, "ss-note"),
        result,
        el("div", { class: "ss-pairgrid" },
          el("section", {}, el("h3", { text: w.overLength }), charts.length.root),
          el("section", {}, el("h3", { text: w.overAlpha }), charts.alpha.root),
        ),
        legend,
        today,
        slowRun,
      ),
      positionPanel,
    ),
  );

  const queue = () => { if (!queued) queued = requestAnimationFrame(draw); };

  async function open(next) {
    entry = next;
    say(runStatus, w.loading);
    try {
      const got = await loadRun(next);
      if (entry !== next) return;
      trace = got;
      facts = runFacts(trace);
      say(runStatus, facts ? "" : w.noDraft);
      fromRun(true);
    } catch {
      if (entry === next) say(runStatus, w.failed);
    }
  }

  // The run's own figures into the sliders; `all` false: only what depends on whose costs are used.
  function fromRun(all) {
    const own = ratiosFor(costsOf(trace?.run?.costs ?? {}), facts?.method), r = ratiosFor(costsNow(), facts?.method, own?.c ?? null) ?? own;
    if (r) state = { ...state, c: r.c, v: r.v };
    if (all && facts) state = { ...state, alpha: facts.alpha, k: facts.k, load: 0 };
    queue();
  }

  function drawCosts() {
    const costs = costsNow(), points = passPoints(costs.passes), one = passSeconds(points, 1), machine = source === "machine" && calibration;
    charts.cost.redraw();
    const r = trace?.run ?? {};
    const about = [r.target, r.device, r.dtype, r.software?.machine, typeof r.created === "string" ? r.created.slice(0, 10) : null]
      .filter((x) => typeof x === "string" && x)
      .map((x) => short(x.replaceAll(" ", "\u2009"), 44))
      .join(", ");
    const live = entry?.name === "live";
    say(from, machine ? words.costs.from.machine(costs) : about ? words.costs.from[live ? "live" : "run"](about) : "");
    say(sourceBox.querySelector('[data-costs="run"]'), live ? w.live : w.costsFrom.run);
    if (one) {
      const n = 5, five = passSeconds(points, n), noisy = points.some(([, s]) => s < one);
      say(costWords, `${words.costs.sentence(n, five / one, one, five)}${noisy ? ` ${words.costs.noisy}` : ""}`);
    }
    const floor = floorSeconds(costs);
    const run = trace?.run ?? {};
    const more = {
      ...passParts(points),
      dtype: String(costs?.dtype ?? run.dtype ?? ""),
      packed: /\bI?Q\d\w*/.exec(String(run.target ?? ""))?.[0] ?? "",
    };
    say(floorWords, floor && one ? words.costs.floorSentence(costs, floor, floor / one, more) : words.costs.noFloor);
    say(button, calibration || refused ? words.costs.again : words.costs.measure);
    button.hidden = !measure;
    sourceBox.hidden = !calibration;
    for (const input of sourceBox.querySelectorAll("input")) input.checked = input.value === source;
  }

  function draw() {
    queued = 0;
    drawCosts();
    const { state: now } = shown();
    expected = expectation(now);
    for (const key of Object.keys(sliders)) sliders[key].set(state[key]);
    vOut.textContent = fixed(now.v(now.k), 2);
    say(vName, w.v(state.load > 0));
    charts.length.redraw();
    charts.alpha.redraw();
    const slow = expected.speed < 1;
    result.dataset.slow = slow ? "yes" : "no";
    result.parentNode.dataset.speed = expected.speed.toFixed(4);
    say(big, ratio(expected.speed));
    say(bigLabel, w.big(expected.speed));
    say(why, slow ? w.slower(state.k, expected.yields, expected) : w.yields(state.k, expected.yields, expected.all));
    breaks.replaceChildren(
      ...rich(words.glossary, `${w.breakEven(state.k, expected.breakEven, state.alpha)} ${w.best(...expected.best, state.alpha)}`),
    );
    today.hidden = positionPanel.hidden = !facts;
    legend.hidden = !facts || facts.tree;
    legend.querySelector(".ss-diamondline").hidden = !facts || facts.measured === null || elsewhere();
    if (!facts) { slowRun.hidden = true; return; }
    say(today, facts.tree ? w.todayTree(facts) : w.today({ ...facts, expected: propagated(facts, state), elsewhere: elsewhere() }));
    const slower = facts.measured !== null && facts.measured < 1 && facts.cost;
    slowRun.hidden = !slower;
    say(slowRun, slower ? w.slowRun(facts.cost) : "");
    charts.position.redraw();
    say(positionWords, words.position.sentence(facts.positions));
  }

  // value: {"calibration": {...}} or {"error": "one sentence"}, JSON text from spec_ui/tabs/faster.py.
  function update(value) {
    let v = {};
    try { v = JSON.parse(value || "{}") ?? {}; } catch { v = {}; }
    button.disabled = false;
    say(status, typeof v.error === "string" ? v.error : "");
    const points = passPoints(v.calibration?.pass_s);
    refused = wished && !believable(points);
    if (refused) {
      const one = passSeconds(points, 1), [n, least] = points.reduce((a, b) => (b[1] < a[1] ? b : a));
      say(status, words.costs.refused(n, least / one, Boolean(calibration)));
    }
    if (points.length && believable(points)) {
      calibration = costsOf(v.calibration);
      if (wished) { source = "machine"; trusted = calibration; }
      fromRun(false);
    }
    queue();
  }

  // Called when the tab comes into sight: the run in Watch may be another one by now.
  function refresh() {
    const live = liveRun(), entries = [...recorded.filter((e) => e.tested > 0), ...(live ? [live] : [])];
    if (!entries.length) { say(runStatus, w.noRuns); queue(); return; }
    const keep = entries.find((e) => e.name === entry?.name && e.name !== "live");   // a live run may have grown: it is read anew
    const first = keep ?? (live && (!entry || entry.name === "live") ? live : entries[0]);
    chips.draw(entries, first);
    if (!keep) open(first); else queue();
  }
  queue();
  return { update, refresh, hide() {} };
}
