// mount(root, {ndjson, ...}) draws a trace and lets a person walk it. No server, no framework: the same code serves the exported file.
import { createBars } from "../distributions/bars.js";
import { createCards } from "./cards.js";
import { createClock } from "./clock.js";
import { el, icon, say } from "../page/dom.js";
import { runningText } from "../page/glyphs.js";
import { createHelp, createLegend } from "./help.js";
import { createRace } from "./speedup_chart.js";
import { createIntro } from "./intro.js";
import { langOf, wordsFor } from "../words/languages.js";
import { presenting } from "../page/present.js";
import { createScrub } from "./scrub.js";
import { createSpeed } from "./speed.js";
import { createShare } from "./share.js";
import { createStats } from "./stats.js";
import { buildSteps, openingRound, settleIndex } from "../trace/steps.js";
import { plainStep } from "../trace/tally.js";
import { createTextView } from "./text.js";
import { createTimeline } from "./timeline.js";
import { makeReader } from "../trace/trace.js";
import { createTree } from "./tree.js";
import { placeOf, stepFor } from "../page/address.js";
import { createWhatIf } from "../whatif/panel.js";

// What a step speaks about: the token whose verdict fell, the newest draft, or what closed the round.
export function defaultSelection(round, step) {
  if (step.phase === "verdict") return step.i;
  if (step.phase === "draft") return step.drafted - 1;
  if (step.phase === "verify") return 0;
  const refused = round.drafted.findIndex((d) => d.verdict === "rejected");
  return refused >= 0 && settleIndex(round) >= 0 ? refused : settleIndex(round) >= 0 ? "end" : round.drafted.length ? round.drafted.length - 1 : null;
}

// words: one language's table (languages.js). place: {run, round, step} to open at. onPlace(place): where the reader is now.
// intro: {lesson, own} puts the words for newcomers above. send(request): a live branch. link(): the address to share.
// present(): begin the presenter's view. onState(): something was drawn or changed.
// onRun(): another run stands here.
export function mount(
  root,
  {
    ndjson = "",
    words = wordsFor(langOf("en")).player,
    loadPlotly = null,
    waiting = false,
    place = null,
    onPlace = null,
    onState = null,
    send = null,
    link = null,
    present = null,
    share = true,
    intro = null,
    onRun = null,
  } = {},
) {
  const reader = makeReader();
  let trace = reader.read("").trace,
    steps = [],
    ends = [],
    at = 0,
    sel = null,
    follow = false,
    frame = 0,
    raw = "",
    first = true,
    news = false,
    untouched = false;

  const stats = createStats(words),
    scrub = createScrub(words, (r) => go(ends[r]));
  const text = createTextView(words, (r, i) => {
    go(ends[r]);
    if (i !== null) select(i);
  });
  const cards = createCards(words, select),
    tree = createTree(words, select),
    bars = createBars(words);
  const race = createRace(words, loadPlotly),
    timeline = createTimeline(words, (r) => go(ends[r])),
    help = createHelp(words);
  const whatif = createWhatIf(words, { send, changed: () => onState?.() });
  const sharing = share
    ? createShare(words, {
        get: () => ({ trace, ndjson: raw, place: steps.length ? placeOf(steps, ends, at) : null }),
        open: (value) => update(value),
        link,
        present,
      })
    : null;
  const btn = (name, sign, act) =>
    el("button", { type: "button", class: `ss-btn ss-${name}`, "aria-label": words.controls[name], title: words.controls[name], onclick: act }, sign);
  const play = btn("play", icon("play"), toggle),
    speed = createSpeed(words.controls, (to) => clock.set(to));
  const where = el("span", { class: "ss-where" }),
    line = el("p", { class: "ss-line", "aria-live": "polite" });
  const caption = el("p", { class: "ss-caption" }),
    empty = el("p", { class: "ss-empty" }),
    lossy = el("span", { class: "ss-lossy", text: words.lossy, hidden: true });
  const asked = el("p", { class: "ss-prompt", dir: "auto" }),
    title = el("h2", {}),
    cost = el("p", { class: "ss-sub" });
  const main = el("div", { class: "ss-body" },
    el("div", { class: "ss-panel ss-runpanel" },
      stats.root,
      stats.why,
      asked,
      text.root,
      line,
      el("div", { class: "ss-transport" },
        el("span", { class: "ss-buttons" },
          btn("first", icon("first"), () => go(0)),
          btn("back", icon("back"), () => go(at - 1)),
          play,
          btn("forward", icon("forward"), () => go(at + 1)),
          btn("last", icon("last"), () => go(steps.length - 1)),
        ),
        scrub.root,
        el("span", { class: "ss-side" }, where, speed, btn("help", "?", help.toggle)),
      ),
      createLegend(words, text.only),
      el("div", { class: "ss-captionrow" }, caption, lossy),
    ),
    el("div", { class: "ss-panel ss-roundpanel" },
      title,
      cost,
      cards.root,
      tree.root,
      el("div", { class: "ss-two" }, bars.root, race.root),
      timeline.root,
    ),
    whatif.root,
  );
  root.replaceChildren(el("div", { class: "ss", lang: words.lang }, intro && createIntro(words, intro), empty, main, sharing?.root, help.root));

  const clock = createClock({ steps: () => steps, at: () => at, move: (k) => go(k, true), ended: playState });
  function playState() {
    play.replaceChildren(icon(clock.playing ? "pause" : "play"));
    play.setAttribute("aria-label", clock.playing ? words.controls.pause : words.controls.play);
    line.setAttribute("aria-live", clock.playing ? "off" : "polite"); // one line a step is too much at full speed
  }
  function toggle() {
    if (clock.playing) clock.stop();
    else {
      if (untouched || at >= steps.length - 1) go(0); // whoever has not moved yet sees it from the start
      follow = false;
      clock.play();
    }
    playState();
  }

  function go(k, playing = false) {
    if (!steps.length) return;
    at = Math.max(0, Math.min(steps.length - 1, k));
    untouched = false;
    if (!playing) {
      clock.seek();
      follow = at === steps.length - 1 && !trace.totals;
    }
    if (!playing && !first) tellPlace();
    sel = defaultSelection(trace.rounds[steps[at].r], steps[at]);
    queue();
  }
  function tellPlace() {
    onPlace?.({ run: trace.source === "recorded" ? trace.name : null, ...placeOf(steps, ends, at) });
  }
  function goRound(delta) {
    const r = steps[at]?.r ?? 0;
    const settled = at === ends[r];
    go(ends[Math.max(0, Math.min(ends.length - 1, delta < 0 || settled ? r + delta : r))]);
  }
  function select(i) {
    if (sel !== i) {
      sel = i;
      queue();
    }
  }
  const queue = () => {
    if (!frame) frame = requestAnimationFrame(draw);
  };

  // What is said of the run as a whole: it changes with the trace, not with the step.
  function drawRun() {
    news = false;
    for (const part of [stats, scrub, race]) part.drawRun(trace);
    main.hidden = !steps.length;
    empty.hidden = steps.length > 0;
    say(empty, trace.run || waiting ? words.waiting : words.nothing);
    const about = trace.run ? words.run(trace) : "";
    say(caption, about ? `${words.source[trace.source] ?? words.source.none} · ${about}` : "");
    lossy.hidden = trace.run?.lossless !== false;
    const prompt = typeof trace.run?.prompt === "string" ? trace.run.prompt : "";
    where.style.minWidth = `${words.where(trace.rounds.length, trace.rounds.length).length}ch`; // the scrub bar beside it keeps still
    asked.hidden = !prompt;
    say(asked, prompt ? `${words.prompt} ${runningText(prompt.slice(0, 4000))}` : "");
  }

  function draw() {
    frame = 0;
    if (news) drawRun();
    root.dataset.complete = trace.totals ? (trace.plain ? "plain" : "totals") : "no";
    if (!steps.length) return;
    const step = steps[at],
      round = trace.rounds[step.r],
      view = { trace, step, sel };
    root.dataset.phase = step.phase;
    root.dataset.round = step.r;
    const settled = step.phase === "settle" || at === ends[step.r];
    stats.draw(trace, step, settled);
    for (const part of [text, scrub, cards, tree, bars, timeline, race, whatif]) part.draw(view);
    say(
      title,
      words.roundTitle(
        step.r,
        round,
        settled,
        step.r === trace.rounds.length - 1 && trace.totals?.stop === "length" && trace.run?.method !== "plain",
      ),
    );
    say(cost, words.roundCost(round, settled ? plainStep(trace) : null, !trace.plain)); // before the end nobody knows how many tokens it yields
    say(line, words.step(step, round, trace.rounds.length));
    say(where, words.where(step.r, trace.rounds.length));
    text.follow();
    onState?.();
  }

  function onKey(e) {
    if (e.defaultPrevented || e.altKey || e.ctrlKey || e.metaKey || !root.isConnected || root.offsetParent === null) return;
    const typing = e.target.closest?.("input, textarea, select, [contenteditable], [role=radiogroup], [role=tablist]");
    if (typing || help.root.open) return;
    if (presenting() && (e.key === "PageDown" || e.key === "PageUp")) {
      e.preventDefault();
      go(at + (e.key === "PageDown" ? 1 : -1));
      return;
    }
    if (e.key === " " && e.target.closest?.("button, a, [role=button], summary")) return;
    const act = {
      ArrowLeft: () => (e.shiftKey ? goRound(-1) : go(at - 1)),
      ArrowRight: () => (e.shiftKey ? goRound(1) : go(at + 1)),
      " ": toggle,
      Home: () => go(0),
      End: () => go(steps.length - 1),
      "?": help.toggle,
    }[e.key];
    if (!act || !steps.length) return;
    e.preventDefault();
    act();
  }
  document.addEventListener("keydown", onKey);

  function update(value, { live = null } = {}) {
    raw = typeof value === "string" ? value : "";
    const got = reader.read(value);
    trace = got.trace;
    news = true;
    if (live !== null) waiting = live;
    ({ steps, ends } = buildSteps(trace.rounds));
    if (got.fresh) {
      for (const part of [text, cards, bars, timeline, whatif]) part.reset();
      clock.stop();
      playState();
      follow = !trace.totals;
      if (steps.length && !follow) {
        const asked = place && (!place.run || place.run === trace.name) ? stepFor(place, { ends }) : null;
        if (asked !== null || (place && trace.name === place.run)) place = null;
        go(asked ?? ends[openingRound(trace.rounds)]);
        untouched = asked === null;
      } else if (steps.length && !first) onPlace?.({ run: null, round: null, step: null });
      if (steps.length) first = false;
      if (steps.length) onRun?.();
    }
    if (steps.length && (follow || at >= steps.length)) {
      at = steps.length - 1;
      sel = defaultSelection(trace.rounds[steps[at].r], steps[at]);
    }
    if (trace.totals) follow = false;
    queue();
  }
  update(ndjson);
  return {
    update,
    go,
    goRound,
    select,
    whatif,
    openFile: sharing?.take,
    get raw() {
      return raw;
    },
    get sel() {
      return sel;
    },
    get words() {
      return words;
    },
    recolour: race.recolour,
    get trace() {
      return trace;
    },
    get at() {
      return at;
    },
    get steps() {
      return steps;
    },
    destroy() {
      document.removeEventListener("keydown", onKey);
      clock.stop();
      race.destroy();
      text.destroy();
      cancelAnimationFrame(frame);
      root.replaceChildren();
    },
  };
}
