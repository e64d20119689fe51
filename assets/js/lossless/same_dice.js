// "The same dice for everybody": recorded coupled runs of one prompt and one seed. Each method's text up to a token, and the target passes that
// it took. Hidden where the list has no two such runs.
import { createRunChips } from "../page/choices.js";
import { el, say } from "../page/dom.js";
import { pieces } from "../page/glyphs.js";
import { prose } from "../page/glossary.js";
import { loadRun } from "../trace/runs.js";

// Pure: the coupled sampled runs of one example, seed and temperature that two or more methods have made -> [{name, example, seed, temperature,
// entries: one a method}].
export function diceGroups(runs) {
  const groups = new Map();
  for (const run of runs.filter((r) => r.verify === "coupled" && r.temperature > 0 && r.seed !== null)) {
    const name = JSON.stringify([run.target, run.example, run.seed, run.temperature]), { example, seed, temperature } = run;
    if (!groups.has(name)) groups.set(name, { name, example, seed, temperature, entries: [] });
    const { entries } = groups.get(name);
    if (!entries.some((other) => other.method === run.method)) entries.push(run);
  }
  return [...groups.values()].filter(({ entries }) => entries.length > 1);
}

// Pure: the traces that really have the prompt and the sampling options of the first: a file's name promises nothing.
export function comparable(traces) {
  const key = ({ run }) => JSON.stringify([run?.target, run?.prompt_ids, run?.sampling, run?.seed, run?.verify]);
  return traces.map((trace) => key(trace) === key(traces[0]));
}

// Pure: a run's tokens, each with the number of target passes after which it was there.
export const tokensOf = (trace) => trace.rounds.flatMap((round, r) => round.emitted.map(({ id, text, kind }) => ({ id, text, kind, passes: r + 1 })));

// Pure: how many tokens from the start on are the same in all of `lanes`, and how many the shortest has.
export function sameTokens(lanes) {
  const most = Math.min(...lanes.map((tokens) => tokens.length));
  let same = 0;
  while (same < most && lanes.every((tokens) => tokens[same].id === lanes[0][same].id && tokens[same].text === lanes[0][same].text)) same += 1;
  return { same, most };
}

function tokenNode({ text, kind }) {
  const { lead, body, breaks } = pieces(text);
  return el("span", { class: "ss-racetok", "data-kind": kind }, lead, el("span", { class: "ss-mark", text: body }), breaks);
}

// A method's text. draw(n): its first n tokens.
function createLane(w, name, tokens) {
  const state = el("span", { class: "ss-lanestate" });
  const text = el("div", { class: "ss-lanetext", dir: "auto", role: "region", tabindex: "0", "aria-label": w.lane(name) });
  const root = el("li", { class: "ss-lane" }, el("div", { class: "ss-lanehead" }, el("b", { text: name }), state), text);
  function draw(n) {
    while (text.childNodes.length > n) text.lastChild.remove();
    text.append(...tokens.slice(text.childNodes.length, n).map(tokenNode));
    say(state, w.passes(n ? tokens[n - 1].passes : 0));
    root.dataset.tokens = n;
  }
  return { root, draw };
}

export function createSameDice(words, runs) {
  const w = words.same, groups = diceGroups(runs);
  const status = el("p", { class: "ss-sub", role: "status" }), result = el("p", { class: "ss-note", role: "status" });
  const slider = el("input", { type: "range", min: 1, step: 1, class: "ss-range", "aria-label": w.upTo, oninput: () => draw() });
  const where = el("span", { class: "ss-where2" }), list = el("ul", { class: "ss-lanelist" });
  const chips = createRunChips(w.choose, ({ example, seed, temperature }) => w.name(example, seed, temperature), open);
  const body = el("div", { hidden: true },
    el("div", { class: "ss-controlrow ss-roundrow" }, el("span", { class: "ss-label", text: w.upTo }), slider, where),
    list,
    result,
  );
  const root = el("section", { class: "ss-panel ss-samedice", hidden: !groups.length },
    el("h2", { text: w.title }),
    prose(words.glossary, w.lead, "ss-lead"),
    chips.root,
    status,
    body,
  );
  let group = null, lanes = [], outcome = null;

  async function open(next) {
    group = next;
    say(status, w.loading);
    try {
      const traces = await Promise.all(next.entries.map(loadRun));
      if (group === next) show(next, traces);
    } catch {
      if (group !== next) return;
      say(status, w.failed);
      body.hidden = true;
    }
  }
  function show({ entries }, traces) {
    const fit = comparable(traces), found = entries.map(({ method }, i) => ({ method, tokens: tokensOf(traces[i]) })).filter((_, i) => fit[i]);
    outcome = sameTokens(found.map((x) => x.tokens));
    lanes = found.map(({ method, tokens }) => createLane(w, w.method(method), tokens));
    list.replaceChildren(...lanes.map((lane) => lane.root));
    const { same, most } = outcome;
    slider.max = slider.value = most;
    say(status, "");
    say(result, same === most ? w.one(lanes.length, most) : w.differ(same));
    body.hidden = most < 1;
    Object.assign(root.dataset, { same, most, lanes: lanes.length });
    if (most) draw();
  }
  function draw() {
    const n = Number(slider.value), text = w.at(n, outcome.most);
    say(where, text);
    slider.setAttribute("aria-valuetext", text);
    for (const lane of lanes) lane.draw(n);
  }

  // Called when the tab comes into sight.
  function refresh() {
    if (!groups.length || group) return;
    chips.draw(groups, groups[0]);
    chips.root.hidden = groups.length < 2;
    open(groups[0]);
  }
  return { root, refresh };
}
