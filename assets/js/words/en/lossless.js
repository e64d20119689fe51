// "Why nothing is lost" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, probLong } from "../../page/numbers.js";
import { apart, sumText, two } from "../../page/printed.js";
import { EXAMPLE_NAME_EN, METHOD_NAME_EN, RUN_NAME_EN } from "./methods.js";
import { GLOSSARY_EN } from "./glossary.js";

const big = (n) => n.toLocaleString("en-US");
const points = (x) => `${fixed(100 * Math.abs(x), Math.abs(x) < 0.01 ? 2 : 1)} points`;

export const LOSSLESS_EN = {
  glossary: GLOSSARY_EN,
  title: "Nothing is lost: what comes out follows the target's distribution (the chance of each token) exactly",
  lead:
    "A small model drafts, and yet every token comes out with exactly the chance that the [[target]] alone would give it. " +
    "The rule is short. Draw a token from [[q]]. Accept it with probability min(1, p/q). " +
    "If it is rejected, draw one from the [[residual]] instead. " +
    "Below you can change both distributions and watch why it works, then try to break it.",
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
  sub: "Solid: min(p, q). Hatched: q above p, drafted too often. Outlined: p above q, drafted too seldom.",
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
    `A drafted token is accepted with probability Σ min(p, q) = ${probLong(overlap)}; otherwise, with probability ` +
    `${probLong(1 - overlap)}, one is drawn from the [[residual]]. Accepted and resampled together are p for every token; ` +
    (error === "0"
      ? "nothing is lost to rounding here."
      : `the last column is no error of the rule but the rounding of this computer, at most ${error} here: it keeps 16 digits.`),
  noResidual: "The two distributions are the same: every drafted token is accepted and no residual is needed.",

  dice: { title: "Try it: draw, and compare with p",
    lead:
      "Each round drafts a token from q, tests it with a random number, and resamples after a rejection. " +
      "Bars: what came out, accepted and resampled. Upright line: p. Whisker: 95 % of the counts if tokens are drawn from p.",
    rule: "Rule", n: "Rounds", draw: (n) => `Draw ${big(n)}`, stop: "Stop", seed: "Seed", reseed: "Another seed",
    rules: { right: "the right rule", greedy: "draft greedily, but test with q", target: "resample from p", threshold: "accept only if p ≥ q" },
    why: {
      right:
        "A token comes out in two ways: as an accepted one, with probability q · min(1, p/q) = min(p, q), or from the [[residual]], " +
        "which holds exactly the rest. The sum is p, whatever q is. A bad draft costs time and changes nothing else.",
      greedy:
        "Broken: the draft always proposes its first choice, but the test still divides by q as if the token had been drawn from q. " +
        "The first choice is proposed too often, and too much of it is accepted. Right would be q = 1 for the proposed token.",
      target:
        "Broken: after a rejection it draws from p, not from the [[residual]]. " +
        "The common part min(p, q) has already come out as accepted tokens; a draw from p gives it once more. " +
        "Tokens that the draft likes come out too often.",
      threshold:
        "Broken: it accepts a token only where p ≥ q, without a random number. " +
        "Tokens with q above p are never accepted, and the residual does not hold them either: they never come out at all.",
    },
    histogram: "What came out, beside p", table: "As a table",
    histogramHead: ["token", "p", "came out", "95 % if drawn from p", "this rule's exact distribution"],
    histogramLabel: (rule, n) => `Shares of the tokens after ${big(n)} rounds with ${rule}, beside p`,
    wrong: "this rule's exact distribution", accepted: "accepted", resampled: "resampled", pMark: "p", band: "95 % if drawn from p",
    distance: "Distance to p while the rounds add up",
    distanceSub:
      "Half the sum of all differences ([[total variation]]), both axes by powers of ten. Draws from p fall along 1/√N and stay in the band.",
    distanceLabel: (rows) => `Distance to p against the number of rounds. ${rows.join(" ")}`,
    distanceHead: ["rule", "rounds", "distance to p", "95 % if drawn from p"],
    distanceRow: (rule, n, d) => `${rule}: ${two(d)} after ${big(n)} rounds.`,
    axisN: "rounds", expected: "1/√N", floor: (rule, d) => `${rule}: never below ${probLong(d)}`, bandWord: "95 % if drawn from p",
    conclusion(s) {
      const [d, most] = apart(s.d, s.band[1], two, two);
      const head = `After ${big(s.n)} rounds the distance to p is ${d}. 95 of 100 runs of draws from p give ${two(s.band[0])} to ${most}: `;
      if (s.rule === "right") return head + (s.d <= s.band[1] ? "nothing but chance." : "one run in forty lies above; try another seed.");
      if (s.wrong < 1e-9) return head + "with these two distributions even this broken rule happens to be right. Pull a bar, and it is not.";
      const more = `In the long run it draws ${s.token} ${points(s.off)} too ${s.off > 0 ? "often" : "seldom"}.`;
      return head + (s.d > s.band[1] ? `this is not p. ${more}` : `not enough rounds to see it yet. ${more}`);
    },
  },
  same: { title: "The same dice for everybody: one seed, one text",
    lead:
      "So far the [[distribution]] was kept; another draft still wrote another text. It can be the same text. " +
      "Give every position of the text one throw of its own, made from the seed and the position alone: a number e for each token. " +
      "The [[target]] takes the token with the largest p/e, which over all throws comes out with probability p. " +
      "The [[draft]] reads the same throw and takes the largest q/e. Often that is the same token, and exactly then it is accepted. " +
      "So the text depends on the seed and the target and on nobody else: a good draft, a bad one or none at all write it, " +
      "only in more or fewer target passes. (Daliri et al. 2024; --verify coupled. " +
      "The price: in a chain a drafted token is accepted a little less often than with min(1, p/q).)",
    choose: "Text",
    name: (example, seed, t) => `${EXAMPLE_NAME_EN(example)} · seed ${seed} · temperature ${fixed(t, 1)}`,
    method: METHOD_NAME_EN,
    upTo: "Tokens",
    at: (n, of) => `${n} of ${of} tokens`,
    passes: (n) => (n === 1 ? "1 target pass" : `${n} target passes`),
    lane: (name) => `Text with ${name}`,
    one: (drafts, n) => `${drafts} proposers, one seed: the first ${n} tokens are the same in all of them.`,
    differ: (n) =>
      `The texts are the same up to token ${n} and differ from there on: two tokens were as good as level in the throw, ` +
      "and passes of different sizes round differently on this machine.",
    loading: "Loading the recordings …",
    failed: "The recordings could not be loaded.",
  },
  real: { title: "The same on a real position",
    lead:
      "Here p and q are the two distributions at one position of a real run. " +
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
    acceptance: { accepted: "accepted", rejected: "rejected", not_reached: "never tested" },
    sentence: (overlap, n) => `At this position the overlap is ${probLong(overlap)}: with this probability a token drafted here is accepted.`,
    greedy:
      "Temperature 0: each distribution has all on one token, and nothing is random. A run with a temperature above 0 shows more.",
    sameDice:
      "In this run target and draft shared their dice, and no u was drawn. Below, the standard rule is tried on the same two distributions.",
    broken: "The broken rules take all others for one token.",
    head: ["token", "target p over draft q", "accepted + resampled = p", "rounding"],
  },
  questions: [
    [
      "What is the residual?",
      "Take p and subtract what both distributions share. The rest of p, max(0, p − q), is what the draft gives too seldom. " +
        "Rescaled to sum to 1, that is the [[residual]]. " +
        "A token is drawn from it only after a rejection, and a rejection has exactly the probability that is missing: 1 − [[overlap]].",
    ],
    [
      "Why must the first rejection stop the round?",
      "Every later token was drafted as the continuation of the rejected one. " +
        "With another token in its place the text before them has changed, and the target's distributions that the same [[pass]] computed for " +
        "them do not belong to this text. They are never tested; the next [[round]] drafts again from the new text.",
    ],
    [
      "Why does the bonus cost nothing?",
      "The pass that verifies k drafted tokens also computes the target's distribution after the last of them. " +
        "If all are accepted, that distribution is ready, and one more token is drawn from [[p]] itself. " +
        "Nothing was drafted there, so nothing needs testing.",
    ],
    [
      "Does a bad draft do harm?",
      "Only to the speed. Set q as far from p as you like: the overlap shrinks, more is resampled, and the sum is still p. " +
        "A poor draft makes a slow run, not another distribution.",
    ],
  ],
};
