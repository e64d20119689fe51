// The parts of the player and where they stand. What they show is up to player.js.
import { createBars } from "../distributions/bars.js";
import { el, icon, say } from "../page/dom.js";
import { runningText } from "../page/glyphs.js";
import { plainStep } from "../trace/tally.js";
import { createWhatIf } from "../whatif/panel.js";
import { createCards } from "./cards.js";
import { createHelp, createLegend } from "./help.js";
import { createIntro } from "./intro.js";
import { createScrub } from "./scrub.js";
import { createShare } from "./share.js";
import { createSpeed } from "./speed.js";
import { createSpeedupChart } from "./speedup_chart.js";
import { createStats } from "./stats.js";
import { createTextView } from "./text.js";
import { createTimeline } from "./timeline.js";
import { createTree } from "./tree.js";

// The bar below the text: buttons, scrub bar, place and speed.
function createTransport(words, act, help) {
  const button = (name, sign, press) => {
    const label = words.controls[name];
    return el("button", { type: "button", class: `ss-btn ss-${name}`, "aria-label": label, title: label, onclick: press }, sign);
  };
  const play = button("play", icon("play"), act.toggle), where = el("span", { class: "ss-where" });
  const scrub = createScrub(words, act.goToRound), speed = createSpeed(words.controls, act.setSpeed);
  const buttons = el("span", { class: "ss-buttons" },
    button("first", icon("first"), act.first),
    button("back", icon("back"), act.back),
    play,
    button("forward", icon("forward"), act.forward),
    button("last", icon("last"), act.last),
  );
  const side = el("span", { class: "ss-side" }, where, speed, button("help", "?", help.toggle));
  const root = el("div", { class: "ss-transport" }, buttons, scrub.root, side);
  function showPlaying(playing) {
    play.replaceChildren(icon(playing ? "pause" : "play"));
    play.setAttribute("aria-label", playing ? words.controls.pause : words.controls.play);
  }
  return { root, scrub, where, showPlaying };
}

// act: what the reader can do, {toggle, first, back, forward, last, goToRound, setSpeed, select, pickToken}. options: of the player.
export function createParts(words, act, options) {
  const stats = createStats(words), text = createTextView(words, act.pickToken), help = createHelp(words);
  const transport = createTransport(words, act, help), { scrub } = transport;
  const cards = createCards(words, act.select), tree = createTree(words, act.select), bars = createBars(words);
  const speedup = createSpeedupChart(words, options.loadPlotly), timeline = createTimeline(words, act.goToRound);
  const whatif = createWhatIf(words, { send: options.send, changed: () => options.onState?.() });
  const sharing = options.share ? createShare(words, { ...act.sharing, link: options.link, present: options.present }) : null;
  const line = el("p", { class: "ss-line", "aria-live": "polite" }), prompt = el("p", { class: "ss-prompt", dir: "auto" });
  const caption = el("p", { class: "ss-caption" }), lossy = el("span", { class: "ss-lossy", text: words.lossy, hidden: true });
  const title = el("h2", {}), cost = el("p", { class: "ss-sub" }), empty = el("p", { class: "ss-empty" });

  const main = el("div", { class: "ss-body" },
    el("div", { class: "ss-panel ss-runpanel" },
      stats.root,
      stats.why,
      prompt,
      text.root,
      line,
      transport.root,
      createLegend(words, text.only),
      el("div", { class: "ss-captionrow" }, caption, lossy),
    ),
    el("div", { class: "ss-panel ss-roundpanel" },
      title,
      cost,
      cards.root,
      tree.root,
      el("div", { class: "ss-two" }, bars.root, speedup.root),
      timeline.root,
    ),
    whatif.root,
  );
  const intro = options.intro && createIntro(words, options.intro);
  const root = el("div", { class: "ss", lang: words.lang }, intro, empty, main, sharing?.root, help.root);

  // What is said of the run as a whole: it changes with the trace, not with the step.
  function drawRun(trace, hasSteps) {
    const { run, rounds } = trace, about = run ? words.run(trace) : "", asked = typeof run?.prompt === "string" ? run.prompt : "";
    for (const part of [stats, scrub, speedup]) part.drawRun(trace);
    main.hidden = !hasSteps;
    empty.hidden = hasSteps;
    say(empty, run ? words.waiting : words.nothing);
    say(caption, about ? `${words.source[trace.source] ?? words.source.none} · ${about}` : "");
    lossy.hidden = run?.lossless !== false;
    transport.where.style.minWidth = `${words.where(rounds.length, rounds.length).length}ch`;   // the scrub bar beside it keeps its width
    prompt.hidden = !asked;
    say(prompt, asked ? `${words.prompt} ${runningText(asked.slice(0, 4000))}` : "");
  }

  // view: {trace, step, sel}. settled: the step is the last of its round.
  function draw(view, settled) {
    const { trace, step } = view, round = trace.rounds[step.r], last = step.r === trace.rounds.length - 1;
    const atLimit = last && trace.totals?.stop === "length" && trace.run?.method !== "plain";
    stats.draw(trace, step, settled);
    for (const part of [text, scrub, cards, tree, bars, timeline, speedup, whatif]) part.draw(view);
    say(title, words.roundTitle(step.r, round, settled, atLimit));
    say(cost, words.roundCost(round, settled ? plainStep(trace) : null, !trace.plain));   // before its end a round's tokens are not counted
    say(line, words.step(step, round, trace.rounds.length));
    say(transport.where, words.where(step.r, trace.rounds.length));
    text.follow();
  }
  function showPlaying(playing) {
    transport.showPlaying(playing);
    line.setAttribute("aria-live", playing ? "off" : "polite");   // a sentence for each step is too much while it plays
  }
  // Another run: nothing of the one before is left.
  function reset() {
    for (const part of [text, cards, bars, timeline, whatif]) part.reset();
  }
  function destroy() {
    speedup.destroy();
    text.destroy();
  }
  return { root, help, whatif, recolour: speedup.recolour, drawRun, draw, showPlaying, reset, destroy };
}
