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

// The sentences around the parts.
function createSentences(words) {
  return {
    line: el("p", { class: "ss-line", "aria-live": "polite" }),   // of the step
    prompt: el("p", { class: "ss-prompt", dir: "auto" }),
    caption: el("p", { class: "ss-caption" }),                    // of the run
    lossy: el("span", { class: "ss-lossy", text: words.lossy, hidden: true }),
    title: el("h2", {}),                                          // of the round
    cost: el("p", { class: "ss-sub" }),
    empty: el("p", { class: "ss-empty" }),                        // where there is no run
  };
}

function layOut(words, p, said) {
  const run = el("div", { class: "ss-panel ss-runpanel" },
    p.stats.root,
    p.stats.why,
    said.prompt,
    p.text.root,
    said.line,
    p.transport.root,
    createLegend(words, (kinds) => p.text.only(kinds)),
    el("div", { class: "ss-captionrow" }, said.caption, said.lossy),
  );
  const round = el("div", { class: "ss-panel ss-roundpanel" },
    said.title,
    said.cost,
    p.cards.root,
    p.tree.root,
    el("div", { class: "ss-two" }, p.bars.root, p.speedup.root),
    p.timeline.root,
  );
  return el("div", { class: "ss-body" }, run, round, p.whatif.root);
}

class Parts {
  // act: what the reader can do, {toggle, first, back, forward, last, goToRound, setSpeed, select, pickToken, sharing}. options: of the player.
  constructor(words, act, options) {
    this.words = words;
    this.help = createHelp(words);
    this.transport = createTransport(words, act, this.help);
    this.scrub = this.transport.scrub;
    this.stats = createStats(words);
    this.text = createTextView(words, act.pickToken);
    this.cards = createCards(words, act.select);
    this.tree = createTree(words, act.select);
    this.bars = createBars(words);
    this.speedup = createSpeedupChart(words, options.loadPlotly);
    this.timeline = createTimeline(words, act.goToRound);
    this.whatif = createWhatIf(words, { send: options.send, changed: () => options.onState?.() });
    this.said = createSentences(words);
    this.main = layOut(words, this, this.said);
    const share = options.share ? createShare(words, { ...act.sharing, link: options.link, present: options.present }) : null;
    const intro = options.intro && createIntro(words, options.intro);
    this.root = el("div", { class: "ss", lang: words.lang }, intro, this.said.empty, this.main, share?.root, this.help.root);
  }

  // What is said of the run as a whole: it changes with the trace, not with the step.
  drawRun(trace, hasSteps) {
    const { words, said } = this, { run, rounds } = trace, about = run ? words.run(trace) : "";
    const asked = typeof run?.prompt === "string" ? run.prompt : "";
    for (const part of [this.stats, this.scrub, this.speedup]) part.drawRun(trace);
    this.main.hidden = !hasSteps;
    said.empty.hidden = hasSteps;
    say(said.empty, run ? words.waiting : words.nothing);
    say(said.caption, about ? `${words.source[trace.source] ?? words.source.none} · ${about}` : "");
    said.lossy.hidden = run?.lossless !== false;
    said.prompt.hidden = !asked;
    say(said.prompt, asked ? `${words.prompt} ${runningText(asked.slice(0, 4000))}` : "");
    // The widest text that the place will have: the scrub bar beside it keeps its width.
    this.transport.where.style.minWidth = `${words.where(rounds.length, rounds.length).length}ch`;
  }

  // view: {trace, step, sel}. settled: the step is the last of its round.
  draw(view, settled) {
    const { words, said } = this, { trace, step } = view, round = trace.rounds[step.r], last = step.r === trace.rounds.length - 1;
    const atLimit = last && trace.totals?.stop === "length" && trace.run?.method !== "plain";
    this.stats.draw(trace, step, settled);
    const parts = [this.text, this.scrub, this.cards, this.tree, this.bars, this.timeline, this.speedup, this.whatif];
    for (const part of parts) part.draw(view);
    say(said.title, words.roundTitle(step.r, round, settled, atLimit));
    say(said.cost, words.roundCost(round, settled ? plainStep(trace) : null, !trace.plain));   // a round's tokens are counted at its end
    say(said.line, words.step(step, round, trace.rounds.length));
    say(this.transport.where, words.where(step.r, trace.rounds.length));
    this.text.follow();
  }

  showPlaying(playing) {
    this.transport.showPlaying(playing);
    this.said.line.setAttribute("aria-live", playing ? "off" : "polite");   // a sentence for each step is too much while it plays
  }

  // Another run: nothing of the one before is left.
  reset() {
    for (const part of [this.text, this.cards, this.bars, this.timeline, this.whatif]) part.reset();
  }

  destroy() {
    this.speedup.destroy();
    this.text.destroy();
  }
}

export const createParts = (words, act, options) => new Parts(words, act, options);
