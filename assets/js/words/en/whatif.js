// "What if" in English. A translation is one more file with the same keys.
import { fixed, percent, probLong, ratio, times, upTo } from "../../page/numbers.js";
import { quoted } from "../../page/glyphs.js";
import { apart, compared, sumText, two } from "../../page/printed.js";

export const WHATIF_EN = {
  title: "What if …",
  lead: "Change one thing at the chosen token and see what would have happened. Everything here is computed in this browser.",
  at: (text) => `The token drafted here is ${quoted(text)}.`,
  none: "Nothing was drafted at this position. Choose a drafted token above.",
  several:
    "Several tokens were drafted at this position; the random number and the bars of this panel are for one. " +
    "Choose a drafted token that stands alone, or a run without a tree.",
  reset: "As it was",
  u: {
    title: "… the random number had been another?",
    label: "u, the random number",
    how: "Drag u (with a keyboard: focus it and use the arrow keys). The token is accepted while u is in the coloured part, below p/q.",
    accepted: (u, t) => `${compared({ u, threshold: t, verdict: "accepted" }, "p/q")}: the token is accepted.`,
    rejected: (u, t) =>
      `${compared({ u, threshold: t, verdict: "rejected" }, "p/q")}: the token is rejected, and what follows it is never tested.`,
    certain: (t) => `p/q = ${times(t)} is at least 1: the token is accepted whatever u is.`,
    was: (u) => `In the run u was ${probLong(u)}.`,
    wasGreedy: "In the run there was no random number: temperature 0.",
    wasDice: "In the run no u was drawn: target and draft shared their dice. Here the rule is the standard one, u < p/q.",
    impossible: "q is 0 here: this token would never have been drafted.",
    rule: "This run verified the draft by another rule; here it is the standard one, token by token.",
  },
  pair: {
    title: "… the models gave other probabilities?",
    how:
      "Drag the end of a bar (with a keyboard: focus it and use the arrow keys); the others share the rest. " +
      "Solid: min(p, q). Hatched: q above p. Outlined: p above q.",
    head: ["token", "target p over draft q", "accepted + resampled = p", "error"],
    others: "all others",
    slider: (which, token) => `${which === "p" ? "Target p" : "Draft q"} of ${token}`,
    sliderValue: (x) => percent(x),
    identity: sumText,
    identityError: (x) => (x < 5e-16 ? "0" : x.toExponential(0)),
    overlap: (x) => `Overlap Σ min(p, q) = ${probLong(x)}: a token drafted here is accepted with this probability.`,
    most: (x) =>
      `By changing q alone it can reach ${probLong(x)} at most: “all others” are many tokens in one bar, ` +
      "and their overlap is the recorded one.",
  },
  temperature: {
    title: "Temperature",
    value: (t) => (t === 0 ? "0 (greedy)" : fixed(t, 2)),
    note: (n) =>
      `Computed from the recorded logits of the ${n} listed tokens, before top-p and the like. ` +
      "Their proportions are exact; the tokens not listed are left out.",
    live: "For the exact run, set the temperature in the controls and press Run.",
    missing: "This record has no logits for this position.",
  },
  roll: {
    title: "… this position came 1,000 times?",
    button: "Draw 1,000 times",
    again: "Draw 1,000 more",
    head: ["token", "accepted", "resampled", "95 % if drawn from p", "in all, and p"],
    caption: "What 1,000 draws came to, beside p",
    nothing: "Draft from q, test against p, resample after a rejection: do that a thousand times and see what comes out.",
    band: "Whiskers: 95 % of the counts if tokens are drawn from p itself. One in twenty is outside its whisker by chance alone.",
    result: (n, d, e, [low, high]) => {
      const [at, most] = apart(d, high, two, two);
      return (
        `${n.toLocaleString("en-US")} draws. Distance to p (half the sum of all differences): ${at}. ` +
        `As many draws from p itself are off by ${two(e)} on average, and in 95 of 100 tries by ${two(low)} to ${most}: ` +
        (d <= high
          ? "what you see is chance alone."
          : "about one try in 40 is further off, and this is one; draw more and see whether it lasts.")
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
    noneBest: "At these costs no length pays: the best is not to speculate.",
    slow: "Below 1: slower than plain decoding.",
    beyond: "The run never drafted that far: that part uses its average acceptance.",
    one: "1×: plain decoding",
    axis: (speed) =>
      speed
        ? "Above the bars: speed, times plain decoding; dashed: 1×. Below: draft length. Pale: longer than any draft of this run. " +
          "Red: slower than plain."
        : "Above the bars: tokens a round. Below: draft length.",
    load: {
      label: "Pass filled by other requests",
      value: (x) => (x === 0 ? "not at all" : x === 1 ? "wholly" : `to ${percent(x)}`),
      note:
        "Where a server decodes for many people in one pass, their tokens fill it. Not at all: a pass costs what was measured. " +
        "Wholly: each token in it costs a whole plain step. Between, in proportion; that is computed, not measured.",
    },
    from: (x) =>
      x.cost === null
        ? "Costs are the calibrated ones of a draft step and a pass."
        : `A round of this run cost ${fixed(x.cost, 2)} plain steps${x.timed ? ", as in the headline" : ""}, ` +
          `with ${upTo(x.drafts, 1)} ${x.tree ? "levels of drafted tokens" : "drafted tokens"} on average. ` +
          "Other lengths: the calibrated costs of a draft step and of a pass, in proportion to that. " +
          "The prompt's own pass, which the headline counts too, is left out.",
    none: "This run drafted nothing.",
  },
  branch: {
    title: "… the text had gone on differently?",
    lead: "The live model goes on from here. It needs the model to be loaded; the settings in the controls are used.",
    force: "Force this token here",
    go: "Go on from it, live",
    edit: "Edit the text so far",
    goText: "Go on from this text, live",
    tooLong: (n, most) => `The text so far has ${n} characters; at most ${most} fit.`,
    tooMany: (n, most) => `There are ${n} tokens before this position; at most ${most} fit.`,
  },
};
