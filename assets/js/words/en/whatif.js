// "What if" in English. A translation is one more file with the same keys.
import { fixed, percent, probLong, ratio, times, upTo } from "../../page/numbers.js";
import { quoted } from "../../page/glyphs.js";
import { apart, compared, sumText, two } from "../../page/printed.js";

export const WHATIF_EN = {
  title: "What if …",
  lead: "Change one thing at the chosen token and see what would have happened. Everything here is worked out on this page.",
  at: (text) => `The draft here was ${quoted(text)}.`,
  none: "No draft was made at this place. Choose a drafted token above.",
  several:
    "Several tokens were drafted at this place, one after the other; the dice and bars of this panel are for one. " +
    "Choose a drafted token that stands alone, or a run without a tree.",
  reset: "As it was",
  u: {
    title: "… the dice had fallen otherwise?",
    label: "u, the random number",
    how: "Drag u (with a keyboard: focus it and use the arrow keys). It accepts the draft while it lies in the coloured part, below p/q.",
    accepted: (u, t) => `${compared({ u, threshold: t, verdict: "accepted" }, "p/q")}: the draft is accepted.`,
    rejected: (u, t) =>
      `${compared({ u, threshold: t, verdict: "rejected" }, "p/q")}: the draft is rejected, and what follows it is never looked at.`,
    certain: (t) => `p/q = ${times(t)} is at least 1: the draft is accepted whatever u is.`,
    was: (u) => `In the run u was ${probLong(u)}.`,
    wasGreedy: "In the run there was no dice: temperature 0.",
    impossible: "q is 0 here: this token would never have been drafted.",
    rule: "This run tested the whole draft by another rule; here it is the plain one, token by token.",
  },
  pair: {
    title: "… the models thought otherwise?",
    how:
      "Drag the end of a bar (with a keyboard: focus it and use the arrow keys); the others share the rest. Solid: both agree. " +
      "Hatched: drafted too eagerly. Outlined: still owed.",
    head: ["token", "target p over draft q", "accepted + resampled = p", "error"],
    others: "all others",
    slider: (which, token) => `${which === "p" ? "Target p" : "Draft q"} of ${token}`,
    sliderValue: (x) => percent(x),
    identity: sumText,
    identityError: (x) => (x < 5e-16 ? "0" : x.toExponential(0)),
    overlap: (x) => `Overlap Σ min(p, q) = ${probLong(x)}: a token drafted here would be accepted with this chance.`,
    most: (x) =>
      `Pulling at q alone it can reach ${probLong(x)} at most: “all others” are many tokens in one bar, ` +
      "on which the two models agree as little as was recorded.",
  },
  temperature: {
    title: "Temperature",
    value: (t) => (t === 0 ? "0 (greedy)" : fixed(t, 2)),
    note: (n) =>
      `Worked out from the recorded logits of the ${n} listed tokens, before top-p and the like. ` +
      "Their proportions are exact; the tokens not listed are left out.",
    live: "For the exact run, set the temperature in the controls and press Run.",
    missing: "This record has no logits for this place.",
  },
  roll: {
    title: "… this place came 1,000 times?",
    button: "Roll 1,000 times",
    again: "Roll 1,000 more",
    head: ["token", "accepted", "resampled", "95 % of honest counts", "in all, and p"],
    caption: "What 1,000 draws came to, beside p",
    nothing: "Draft from q, test against p, resample where rejected: do that a thousand times and see where it lands.",
    band: "Whiskers: where 95 % of the counts lie if one draws from p itself. One in twenty lies outside its whisker by chance alone.",
    result: (n, d, e, [low, high]) => {
      const [at, most] = apart(d, high, two, two);
      return (
        `${n.toLocaleString("en-US")} rolls. Distance to p (half the sum of all differences): ${at}. ` +
        `As many draws from p itself are off by ${two(e)} on average, and in 95 of 100 tries by ${two(low)} to ${most}: ` +
        (d <= high
          ? "what you see is nothing but dice."
          : "dice land further off than that about once in 40 tries, and did so here; roll more and see whether it lasts.")
      );
    },
  },
  length: {
    title: "… it drafted more, or fewer?",
    label: "Draft length",
    tokens: "tokens a round",
    row: (x) => `${x.k}: ${fixed(x.tokens, 2)} tokens a round${x.speed ? `, ${ratio(x.speed)}` : ""}`,
    say: (x) =>
      `Drafting ${x.k}: ${fixed(x.tokens, 2)} tokens a round are to be ` +
      `expected${x.cost ? `, a round costs ${fixed(x.cost, 2)} plain steps, so ${ratio(x.speed)} the speed of plain decoding` : ""}.`,
    best: (k) => `With these costs ${k} is best.`,
    noneBest: "At these costs no length pays: best is not to speculate.",
    slow: "Below 1: slower than plain decoding.",
    beyond: "The run never drafted that far: that part is its average acceptance, carried on.",
    one: "1×: plain decoding",
    axis: (speed) =>
      speed
        ? "Above the bars: speed, times plain decoding; dashed: 1×. Below: draft length. Pale: longer than any draft of this run. " +
          "Red: slower than plain."
        : "Above the bars: tokens a round. Below: draft length.",
    load: {
      label: "Filled by other requests",
      value: (x) => (x === 0 ? "not at all" : x === 1 ? "wholly" : `to ${percent(x)}`),
      note:
        "Where a server writes for many people in one pass, their tokens fill it. Not at all: a pass costs what was measured. " +
        "Wholly: each token in it costs a whole plain step. Between, in proportion; that is computed, not measured.",
    },
    from: (x) =>
      x.cost === null
        ? "Costs are the calibrated ones of a draft step and a pass."
        : `A round of this run cost ${fixed(x.cost, 2)} plain steps${x.timed ? ", as in the headline" : ""}, ` +
          `with ${upTo(x.drafts, 1)} ${x.tree ? "levels of drafts" : "drafts"} on average. ` +
          "Other lengths: the calibrated costs of a draft step and of a pass, in proportion to that. " +
          "The prompt's own pass, which the headline counts too, is left out.",
    none: "This run drafted nothing.",
  },
  branch: {
    title: "… the text had gone on otherwise?",
    lead: "The live model goes on from here. It needs the model to be loaded; the settings in the controls are used.",
    force: "Force this token here",
    go: "Go on from it, live",
    edit: "Edit the text so far",
    goText: "Go on from this text, live",
    tooLong: (n, most) => `The text so far has ${n} characters; at most ${most} fit.`,
    tooMany: (n, most) => `There are ${n} tokens before this place; at most ${most} fit.`,
  },
};
