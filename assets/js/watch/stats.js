// The result at a glance: the speed-up, and beside it the three figures that explain it.
import { el, say } from "../page/dom.js";
import { fixed, percent, rate, ratio } from "../page/numbers.js";
import { passSpread, roundCost, speedup, tally, UNEVEN } from "../trace/tally.js";

// Pure: what the four figures say of a trace as far as it has come.
export function headline(trace, words) {
  const t = tally(trace), s = speedup(trace), cost = roundCost(trace), plainOnly = t.rounds > 1 && t.drafted === 0;
  const out = {
    big: ratio(s.ratio),
    label: words.speed.none,
    estimate: false,
    slow: false,
    why: "",
    perRound: t.perRound === null ? "–" : fixed(t.perRound, 2),
    tested: percent(t.testedRate),
    testedLabel: words.tested(t),
    perSecond: rate(t.perSecond),
    versus: s.plain_s > 0 ? words.versus(rate(s.tokens / s.plain_s)) : "",
  };
  if (plainOnly) return { ...out, big: "1×", label: words.speed.plainRun, versus: "", testedLabel: words.notTested };
  if (s.ratio === null) return out;
  out.slow = s.measured && s.ratio < 1;   // not called slow by an estimate
  out.estimate = !s.measured;
  out.label = s.measured ? words.speed.measured(s.ratio) : words.speed.estimate;
  if (cost && s.measured) out.why = [out.slow ? words.speed.whySlow(cost) : words.speed.why(cost), ...besides(trace, s, t, words)].join(" ");
  return out;
}

// What else makes the headline differ from a round's cost and yield: rounds without a draft, the prompt's pass, a busy machine.
function besides(trace, s, t, words) {
  const idle = t.rounds - 1 - t.draftRounds, spread = passSpread(trace), out = [];
  if (idle > 0) out.push(words.speed.idle(idle, t.rounds - 1));
  if (s.writing !== null && Math.abs(s.writing / s.ratio - 1) > 0.03) out.push(words.speed.prompt(s.writing, s.ttft_s, s.spec_s));
  if (spread && spread[1] > UNEVEN * spread[0]) out.push(words.speed.uneven(...spread));
  return out;
}

const FEWEST = 5;   // rounds from which on the figures say something: before, the prompt's pass outweighs them

// Pure: the same figures for the rounds that are over at this step; null at the end, where they are the run's own, and for too few rounds.
export function soFar(trace, step, settled) {
  const upto = step.r + (settled ? 1 : 0);
  if (upto >= trace.rounds.length || upto < FEWEST) return null;
  const part = { ...trace, rounds: trace.rounds.slice(0, upto) }, t = tally(part), s = speedup(part);
  return { upto: upto - 1, ratio: t.drafted ? s.ratio : null, perRound: t.perRound, tested: t.testedRate, perSecond: t.perSecond };
}

export function createStats(words) {
  const node = (tag, cls) => el(tag, { class: cls });
  const big = node("b");
  const badge = el("em", { class: "ss-badge", text: words.speed.badge, hidden: true });
  const label = node("span");
  const why = node("p", "ss-why");
  const per = node("b"), tested = node("b"), testedLabel = node("span"), second = node("b"), versus = node("small");
  const form = { ratio, perRound: (x) => fixed(x, 2), tested: percent, perSecond: rate };
  const here = Object.fromEntries(Object.keys(form).map((key) => [key, el("span", { class: "ss-sofar" })]));   // the figures up to the step
  const root = el("div", { class: "ss-stats", role: "group", "aria-label": words.aria.result },
    el("div", { class: "ss-stat ss-big" }, el("div", { class: "ss-bigline" }, big, badge), label, here.ratio),
    el("div", { class: "ss-stat" }, per, el("span", { text: words.perRound }), here.perRound),
    el("div", { class: "ss-stat" }, tested, testedLabel, here.tested),
    el("div", { class: "ss-stat" }, el("div", {}, second, " ", versus), el("span", { text: words.perSecond }), here.perSecond),
  );
  let shown = null;   // for how many rounds they are

  function drawRun(trace) {
    shown = null;
    const h = headline(trace, words);
    say(big, h.big);
    say(label, h.label);
    say(why, h.why);
    say(per, h.perRound);
    say(tested, h.tested);
    say(testedLabel, h.testedLabel);
    say(second, h.perSecond);
    say(versus, h.versus);
    badge.hidden = !h.estimate;
    root.dataset.slow = h.slow ? "yes" : "no";
    root.dataset.estimate = h.estimate ? "yes" : "no";
    why.hidden = !h.why;
  }
  function draw(trace, step, settled) {
    const now = settled ? step.r + 1 : step.r;
    if (now === shown) return;
    shown = now;
    const part = soFar(trace, step, settled);
    for (const key of Object.keys(form)) {
      const x = part?.[key] ?? null;
      say(here[key], x === null ? "" : words.soFar(form[key](x), part.upto));
    }
  }
  return { root, why, drawRun, draw };
}
