// "Why nothing is lost" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, probLong } from "../../page/numbers.js";
import { apart, sumText, two } from "../../page/printed.js";
import { RUN_NAME_EN } from "./methods.js";
import { GLOSSARY_EN } from "./glossary.js";

const big = (n) => n.toLocaleString("en-US");
const points = (x) => `${fixed(100 * Math.abs(x), Math.abs(x) < 0.01 ? 2 : 1)} points`;

export const LOSSLESS_EN = {
  glossary: GLOSSARY_EN,
  title: "Nothing is lost: what comes out follows the target's distribution (the chance of each token) exactly",
  lead:
    "A small model guesses, and yet every token comes out with the chance that the [[target]] alone would give it. Not nearly: exactly. " +
    "The rule is short. Draw a guess from [[q]]. Accept it with the chance min(1, p/q). " +
    "If it is not accepted, draw once from the [[residual]] instead. " +
    "Below you can pull at both distributions and watch why it works, then try to break it.",
  presets: {
    label: "Start from",
    agree: "they agree",
    disagree: "they disagree",
    eager: "over-confident draft",
    disjoint: "nothing in common",
    own: "your own",
  },
  tokens: ["leaf", "tree", "sun", "rain", "wind", "snow"],
  count: "Tokens", fewer: "One token fewer", more: "One token more",
  editorHow:
    "Drag the end of a bar (with a keyboard: focus it and use the arrow keys). The others shrink or grow so that each distribution still sums to 1.",
  sub: "Solid: the part both agree on. Hatched: drafted too eagerly. Outlined: still owed by the target.",
  head: ["token", "target p over draft q", "accepted + resampled = p", "rounding"],
  slider: (which, token) => `${which === "p" ? "Target p" : "Draft q"} of ${token}`,
  sliderValue: (x) => `${(100 * x).toFixed(0)} percent`,
  identity: sumText,
  identityError: (e) =>
    e === 0
      ? "0"
      : e
          .toExponential(0)
          .replace("e-", "·10⁻")
          .replace(/⁻(\d+)/, (_, d) => "⁻" + Array.from(d, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")),
  identitySentence: (overlap, error) =>
    `A guess is accepted with the chance Σ min(p, q) = ${probLong(overlap)}; otherwise, with the chance ${probLong(1 - overlap)}, ` +
    "the [[residual]] is drawn from. Accepted and resampled together are p for every token; " +
    (error === "0"
      ? "nothing is lost to rounding here."
      : `the last column is not the rule's but this computer's rounding, at most ${error} here: it keeps 16 digits.`),
  noResidual: "The two distributions are the same: every guess is accepted and no residual is needed.",

  dice: { title: "Try it: draw, and compare with p",
    lead:
      "Each round drafts from q, throws the dice for the test, and redraws if it must. Bars: what came out, accepted and resampled. " +
      "The upright line: p. Whisker: where 95 % of honest counts would lie.",
    rule: "Rule", n: "Rounds", draw: (n) => `Draw ${big(n)}`, stop: "Stop", seed: "Seed", reseed: "Other dice",
    rules: { right: "the right rule", greedy: "draft greedily, but keep q", target: "redraw from p", threshold: "accept only if p ≥ q" },
    why: {
      right:
        "A token comes out in two ways: as an accepted guess, with the chance q · min(1, p/q) = min(p, q), or out of the [[residual]], " +
        "which holds precisely what is then missing. The sum is p, whatever q was. A bad draft costs time, never truth.",
      greedy:
        "Broken: the draft always offers its favourite, but the test still divides by q as if it had been drawn from q. " +
        "The favourite is offered too often and its accepted part is too large. Right would be q = 1 for the token that is offered.",
      target:
        "Broken: after a rejection it draws from p, not from the [[residual]]. " +
        "What both distributions agree on has already had its turn as an accepted guess; drawing from p gives it a second turn. " +
        "Tokens that the draft likes come out too often.",
      threshold:
        "Broken: it accepts a guess only where p ≥ q, without dice. " +
        "Tokens of which the draft is too fond are never accepted, and the residual does not hold them either: they never come out at all.",
    },
    histogram: "What came out, beside p", table: "As a table",
    histogramHead: ["token", "p", "came out", "95 % of honest counts", "this rule's exact distribution"],
    histogramLabel: (rule, n) => `Shares of the tokens after ${big(n)} rounds with ${rule}, beside p`,
    wrong: "this rule's exact distribution", accepted: "accepted", resampled: "resampled", pMark: "p", band: "95 % of honest draws",
    distance: "Distance to p while the rounds add up",
    distanceSub:
      "Half the sum of all differences ([[total variation]]), both axes by powers of ten. Honest dice fall along 1/√N and stay in the band.",
    distanceLabel: (rows) => `Distance to p against the number of rounds. ${rows.join(" ")}`,
    distanceHead: ["rule", "rounds", "distance to p", "95 % of honest runs"],
    distanceRow: (rule, n, d) => `${rule}: ${two(d)} after ${big(n)} rounds.`,
    axisN: "rounds", expected: "1/√N", floor: (rule, d) => `${rule}: never below ${probLong(d)}`, bandWord: "95 % of honest runs",
    verdict(s) {
      const [d, most] = apart(s.d, s.band[1], two, two);
      const head = `After ${big(s.n)} rounds the distance to p is ${d}. 95 of 100 honest runs of draws from p give ${two(s.band[0])} to ${most}: `;
      if (s.rule === "right") return head + (s.d <= s.band[1] ? "nothing but dice." : "one honest run in forty lies above; try other dice.");
      if (s.wrong < 1e-9) return head + "with these two distributions even this broken rule happens to be right. Pull a bar and it is not.";
      const more = `In the long run it draws ${s.token} ${points(s.off)} too ${s.off > 0 ? "often" : "seldom"}.`;
      return head + (s.d > s.band[1] ? `this is not p. ${more}` : `not enough rounds to see it yet. ${more}`);
    },
  },
  real: { title: "The same on a real position",
    lead:
      "Here p and q are no toy: they are the two distributions that met at one place of a real run. " +
      "All tokens that the record does not list are one category, with the overlap that was recorded for them.",
    run: "Run",
    round: "Round",
    position: "Drafted token",
    none: "This run has no recorded round with a draft.",
    loading: "Loading the recording …",
    failed: "The recording could not be loaded.",
    live: "the run in Watch", noRuns: "No recorded run is here yet.", others: "all others",
    name: RUN_NAME_EN,
    context: "After", choose: (r, of) => `round ${r} of ${of}`,
    positionLabel: (token, state) => `${token}: ${state}`,
    verdict: { accepted: "accepted", rejected: "rejected", not_reached: "never tested" },
    sentence: (overlap, n) =>
      `At this place both distributions agree on ${probLong(overlap)} of the chance: so often would a guess be accepted here.`,
    greedy:
      "Temperature 0: each distribution stands on one token, so there is nothing left to chance. Choose a run with temperature for a richer picture.",
    broken: "For the broken rules all others count as one token.",
    head: ["token", "target p over draft q", "accepted + resampled = p", "rounding"],
  },
  questions: [
    [
      "What is the residual?",
      "Take p and cut away what both distributions agree on. What is left of p, max(0, p − q), is what the drafts cannot deliver: " +
        "tokens the draft proposes too seldom. Rescaled to sum to 1, that is the [[residual]]. " +
        "It is drawn from after a rejection only, and rejections happen precisely as often as that mass is missing: 1 − [[overlap]].",
    ],
    [
      "Why must the first rejection stop the round?",
      "Every later draft was written as the continuation of the rejected token. " +
        "With another token in its place the text before them is another one, and the target's distributions that the same [[pass]] computed for " +
        "them do not belong to this text. They are never tested; the next [[round]] drafts again from the new text.",
    ],
    [
      "Why is the bonus free?",
      "The pass that checks k drafts also computes the target's distribution behind the last of them. " +
        "If all are accepted, that distribution is ready, and one more token is drawn from [[p]] itself. " +
        "Nothing was drafted there, so nothing needs testing.",
    ],
    [
      "Does a bad draft hurt?",
      "Only the clock. Set q as far from p as you like: the overlap shrinks, more is resampled, and the sum is still p. " +
        "A poor draft makes a slow run, not another distribution.",
    ],
  ],
};
