// Several recorded methods on one clock: each lane writes its text at the speed it was recorded at.
import { el, icon, say } from "../page/dom.js";
import { pieces } from "../page/glyphs.js";
import { fixed, ratio, upTo } from "../page/numbers.js";
import { laneOf, laneRate, plainLane, reached, sameStart } from "./race_model.js";
import { finite, isGreedy } from "../trace/trace.js";
import { exampleName, loadRun } from "../trace/runs.js";

export const RACE_SPEEDS = [0.25, 0.5, 1, 2, 4];

function createLane(w, lane, note) {
  const text = el("div", {
    class: "ss-lanetext",
    dir: "auto",
    "data-dots": lane.texts ? null : "yes",
    tabindex: "0",
    role: "region",
    "aria-label": w.lane(lane.name),
    "data-hint": w.hint,
  });
  const state = el("span", { class: "ss-lanestate" });
  const fill = el("i", {});
  let n = 0;
  const span = (token) => {
    if (!lane.texts) return el("span", { class: "ss-dot", "aria-hidden": "true", text: "·" });
    const p = pieces(token.text);
    return el("span", { class: "ss-racetok", "data-kind": token.kind }, p.lead, el("span", { class: "ss-mark", text: p.body }), p.breaks);
  };
  const root = el("li", { class: "ss-lane", "data-method": lane.name },
    el("div", { class: "ss-lanehead" }, el("b", { text: lane.name }), state),
    el("div", { class: "ss-lanebar", "aria-hidden": "true" }, fill),
    text,
    note && el("p", { class: "ss-sub", text: note }),
  );
  return { root, lane, draw(t) {
    const to = reached(lane.tokens, t, n);
    if (to < n) { while (text.childNodes.length > to) text.lastChild.remove(); }
    else if (to > n) { text.append(...lane.tokens.slice(n, to).map(span)); text.scrollTop = text.scrollHeight; }
    n = to;
    const over = n === lane.tokens.length && n > 0;
    root.dataset.tokens = n;
    root.dataset.done = over ? "yes" : "no";
    fill.style.width = `${((100 * n) / Math.max(1, lane.tokens.length)).toFixed(1)}%`;
    say(state, over ? w.done(n, lane.end) : w.state(n, t));
  } };
}

export function createRaceView(words, runs) {
  const w = words.race, examples = [...new Set(runs.map((r) => r.example))];
  const status = el("p", { class: "ss-sub", role: "status" });
  const lanesBox = el("ul", { class: "ss-lanelist" });
  const verdict = el("p", { class: "ss-say" });
  const slower = el("div", {});
  const differ = el("p", { class: "ss-note", text: w.differ, hidden: true });
  const rule = el("p", { class: "ss-note" });
  const play = el("button", { type: "button", class: "ss-btn ss-play", onclick: toggle });
  const clock = el("output", { class: "ss-clock" });
  const scrub = el("input", {
    type: "range",
    class: "ss-range",
    min: 0,
    step: 0.01,
    value: 0,
    "aria-label": w.clock,
    oninput: () => {
      t = Number(scrub.value);
      stop();
      paint();
    },
  });
  const speed = el("select", { class: "ss-speed", "aria-label": w.speed, title: w.speed },
    ...RACE_SPEEDS.map((s) => el("option", { value: s, text: `${upTo(s, 2)}×` })),
  );
  speed.value = "1";
  const again = el(
    "button",
    {
      type: "button",
      class: "ss-btn",
      "aria-label": w.again,
      title: w.again,
      onclick: () => {
        t = 0;
        paint();
      },
    },
    icon("first"),
  );
  const table = el("table", {});
  const tableView = el("details", { class: "ss-tableview" },
    el("summary", { text: w.table }),
    el("div", { class: "ss-tablescroll", tabindex: "0", role: "group", "aria-label": w.title }, table),
  );
  const pickExample = el("fieldset", { class: "ss-choice" }), pickMethods = el("fieldset", { class: "ss-choice" });
  const legend = el("p", { class: "ss-keyline" },
    ...Object.entries(w.legend).map(([kind, name]) =>
      el("span", { class: "ss-racetok", "data-kind": kind }, el("span", { class: "ss-mark", text: name })),
    ),
  );
  const body = el("div", { hidden: true },
    el("div", { class: "ss-transport ss-racebar" }, again, play, scrub, clock, speed),
    rule,
    lanesBox,
    legend,
    verdict,
    slower,
    differ,
    tableView,
  );
  const root = el("section", { class: "ss-panel ss-side-by-side" },
    el("h2", { text: w.title }),
    el("p", { class: "ss-lead", text: w.lead }),
    el("div", { class: "ss-controlrow" }, pickExample, pickMethods),
    status,
    body,
  );
  let example = null, off = new Set(), all = [], lanes = [], t = 0, end = 1, frame = 0, wall = 0, asked = 0;
  const nameOf = (method) => words.names[method] ?? method;

  function tick(now) {
    t = Math.min(end, t + ((now - wall) / 1000) * Number(speed.value));
    wall = now;
    paint();
    if (t >= end) stop(); else frame = requestAnimationFrame(tick);
  }
  function stop() { cancelAnimationFrame(frame); frame = 0; sayPlay(); }
  function toggle() {
    if (frame) { stop(); return; }
    if (t >= end) t = 0;
    wall = performance.now();
    frame = requestAnimationFrame(tick);
    sayPlay();
  }
  function sayPlay() {
    play.replaceChildren(icon(frame ? "pause" : "play"));
    play.setAttribute("aria-label", frame ? w.pause : w.play);
    play.title = frame ? w.pause : w.play;
  }
  function paint() {
    for (const l of lanes) l.draw(t);
    scrub.value = t;
    scrub.setAttribute("aria-valuetext", w.at(t));
    say(clock, w.at(t));
    root.dataset.t = t.toFixed(3);
  }

  async function choose(name) {
    example = name;
    stop();
    const mine = (asked += 1), entries = runs.filter((r) => r.example === name);
    say(status, w.loading);
    try {
      const traces = await Promise.all(entries.map(loadRun));
      if (mine !== asked) return;
      all = entries.map((e, i) => ({
        key: e.method,
        plain: e.method === "plain",
        lane: laneOf(nameOf(e.method), traces[i]),
        trace: traces[i],
        entry: e,
      }));
      const beside = all.find((x) => x.trace.plain);
      const plain = all.some((x) => x.key === "plain") ? null : beside && plainLane(nameOf("plain"), beside.trace);
      if (plain)
        all.push({
          key: "plain",
          plain: true,
          lane: plain,
          trace: beside.trace,
          note: [w.plainFrom(beside.lane.name), plain.texts ? "" : w.noText].filter(Boolean).join(". "),
        });
      const same = (f) => new Set(all.map((x) => JSON.stringify(f(x.trace.run ?? {})))).size === 1;
      differ.hidden = same((r) => [r.target, r.device, r.dtype, r.prompt, r.sampling?.temperature, r.max_new_tokens]);
      say(status, plain || all.some((x) => x.key === "plain") ? "" : w.noPlain);
      pickMethods.replaceChildren(el("legend", { text: w.methods }), ...all.map((x) => {
        const input = el("input", {
          type: "checkbox",
          value: x.key,
          onchange: () => {
            if (input.checked) off.delete(x.key);
            else off.add(x.key);
            build();
          },
        });
        input.checked = !off.has(x.key);
        return el("label", { title: words.hints[x.key] ?? null }, input, el("span", { text: x.lane.name }));
      }));
      body.hidden = false;
      t = 0;
      build();
    } catch {
      if (mine === asked) { say(status, w.failed); body.hidden = true; }
    }
  }

  function build() {
    const race = sameStart(all.filter((x) => !off.has(x.key))), shown = race.lanes, sampled = shown.filter((x) => !isGreedy(x.trace)).length;
    say(
      rule,
      [w.sameTokens(race.tokens), race.stretched ? w.stretched : "", sampled ? w.sampled(sampled < shown.length) : w.greedy]
        .filter(Boolean)
        .join(" "),
    );
    const heat = (x) => finite(x.trace.run?.sampling?.temperature), mixed = new Set(shown.map(heat)).size > 1;
    lanes = shown.map((x) => createLane(w, x.lane, [x.note, mixed && heat(x) !== null ? w.heat(heat(x)) : ""].filter(Boolean).join(". ")));
    lanesBox.replaceChildren(...lanes.map((l) => l.root));
    end = Math.max(0.1, ...shown.map((x) => x.lane.end));
    scrub.max = end;
    t = Math.min(t, end);
    const order = shown.map((x) => ({ name: x.lane.name, rate: laneRate(x.lane), ratio: x.plain ? null : x.ratio })).sort((a, b) => b.rate - a.rate);
    say(verdict, order.length ? w.verdict(order, race.tokens) : "");
    slower.replaceChildren(
      ...shown
        .filter((x) => x.entry && words.slower(x.entry))
        .map((x) => el("p", { class: "ss-slowwords", text: w.because(x.lane.name, words.slower(x.entry)) })),
    );
    table.replaceChildren(
      el("caption", { class: "ss-vh", text: w.title }),
      el("thead", {}, el("tr", {}, ...w.head.map((h) => el("th", { scope: "col", text: h })))),
      el("tbody", {},
        ...shown.map((x) =>
          el("tr", {},
            el("th", { scope: "row", text: x.lane.name }),
            ...[
              x.lane.tokens.length,
              fixed(x.lane.end, 2),
              fixed(laneRate(x.lane), 1),
              x.plain ? "1×" : ratio(x.ratio),
              x.entry && !x.plain ? ratio(x.entry.ratio) : "–",
            ].map((c) => el("td", { text: String(c) })),
          ),
        ),
      ),
    );
    paint();
    sayPlay();
  }

  pickExample.append(el("legend", { text: w.example }), ...examples.map((name) => {
    const input = el("input", { type: "radio", name: "ss-race-example", value: name, onchange: () => choose(name) });
    input.checked = name === examples[0];
    return el("label", {}, input, el("span", { text: exampleName(words, name) }));
  }));
  if (!examples.length) say(status, w.none);
  return { root, refresh() { if (!example && examples.length) choose(examples[0]); }, stop };
}
