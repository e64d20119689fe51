// "Why it is faster, and when not" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, ms, percent, probLong, ratio } from "../../page/numbers.js";
import { RUN_NAME_EN } from "./methods.js";
import { GLOSSARY_EN } from "./glossary.js";

const bytes = (n) => (n >= 1e9 ? `${fixed(n / 1e9, 1)} GB` : `${Math.round(n / 1e6)} MB`);
const drafts = (k) => (k === 1 ? "one drafted token" : `${k} drafted tokens`);
const places = (all) => (all.length === 1 ? `position ${all[0]}` : `positions ${all.join(", ")}`);
const tokens = (n) => (n === 1 ? "one token" : `${n} tokens`);

export const FASTER_EN = {
  glossary: GLOSSARY_EN, ms,
  table: "As a table",
  costs: {
    title: "Why it can be faster: verifying five tokens costs little more than writing one",
    lead:
      "To write one token the [[target]] must go through all its weights once. " +
      "Most of such a [[pass]] is spent once, however many tokens it takes: " +
      "the weights are read from memory, which for a large model is most of the work, and each computation has to be started. " +
      "Several tokens in the same pass share that cost; [[plain decoding]] pays it for each token.",
    chart: "Time of one target pass over n tokens",
    x: "tokens in one pass",
    measured: "measured",
    separate: "n passes, one token each",
    floor: "weights ÷ memory speed",
    head: ["tokens in the pass", "measured", "times one token", "n separate passes"],
    label: (rows) => `Time of one target pass. ${rows.join(" ")}`, row: (n, s) => `${tokens(n)}: ${ms(s)}.`,
    sentence: (n, v, one, five) =>
      `Here a pass over ${tokens(n)} takes ${ms(five)}, ${fixed(v, 2)} times a pass over one token (${ms(one)}). ` +
      `${n} passes for one token each would take ${ms(n * one)}.`,
    noisy:
      "A pass over more tokens cannot be faster than over one. Where it was timed so, that is noise, " +
      "and the charts below take it to cost the same.",
    refused: (n, v, before) =>
      `Not used: a pass over ${tokens(n)} was timed at ${fixed(v, 2)} times a pass over one, but it does at least the same work. ` +
      `This machine was busy with something else. ${before ? "What was measured before stays in use" : "The recording's costs stay in use"}; ` +
      "measure again when the machine is idle.",
    floorSentence(c, s, share, more) {
      const wide = { bfloat16: 2, float16: 2, float32: 4, float64: 8 }[more.dtype];
      const size = wide
        ? ` (${Math.round(c.weights / wide / 1e6)} million numbers of ${wide} bytes, ` +
          `${more.dtype}${more.packed ? `; the file packs them smaller, as ${more.packed}, and they are unpacked once` : ""})`
        : "";
      const head =
        `The weights are ${bytes(c.weights)}${size}. Memory here delivers ${bytes(c.memory)} a second, ` +
        `so reading them takes at least ${ms(s)}: ${share >= 0.995 ? "as long as" : `${percent(share)} of`} a pass for one token.`;
      const parts =
        `By the measured line from one to five tokens a pass takes ${ms(more.once)} once and ${more.each ? ms(more.each) : "next to nothing"} ` +
        "for each token";
      if (share >= 0.5) return `${head} ${parts}: most of what is spent once is reading.`;
      const five =
        more.five < 2
          ? `all tokens share what is spent once, so a pass over 5 still takes only ${fixed(more.five, 2)} times one.`
          : `so little is shared, and a pass over 5 takes ${fixed(more.five, 2)} times one.`;
      return (
        `${head} So on this machine reading is the smaller part; the rest is arithmetic and the fixed work of starting it. ` +
        `${parts}; ${five}`
      );
    },
    arithmetic(name, { row_exact: exact, arithmetic: chosen }) {
      const bits = { w16a32: "16-bit weights, 32-bit activations", w8a16: "8-bit weights, 16-bit activations",
        w4a16: "4-bit weights, 16-bit activations" }[name];
      const others = Object.keys(chosen?.tried ?? {}).filter((x) => x !== name);
      return (
        `Arithmetic of this run: ${name}${bits ? ` (${bits})` : ""}` +
        `${chosen ? `, the best for speculative decoding of ${others.length + 1} that were timed when the model was loaded` : ""}. ` +
        (exact
          ? "It is row-exact: a pass over several tokens gives each of them the same bits as passes over one, so a greedy text is that of plain " +
            "decoding, bit for bit."
          : "It is not row-exact: a pass over several tokens rounds differently from passes over one, so a greedy text may part from that of " +
            "plain decoding where two tokens are nearly equally likely.")
      );
    },
    noFloor: "The size of the weights over the speed of memory appears once this machine is measured.",
    from: {
      machine: (c) =>
        `Measured on this machine: ${c.device ?? "?"}${c.threads ? `, ${c.threads === 1 ? "one thread" : `${c.threads} threads`}` : ""}.`,
      run: (what) => `From the recording, not from your machine: ${what}.`,
      live: (what) => `Measured for your live run, on the machine that serves this page: ${what}.`,
    },
    measure: "Measure this machine",
    again: "Measure again",
    measureNote:
      "Passes are timed here only when you press this. It takes some seconds and is best done on an idle machine; " +
      "the charts below then use these costs.",
    busy: "Measuring: some seconds in which nothing else runs …", waiting: "Waiting for the model …",
  },
  model: {
    title: "When it pays: what a round yields against what it costs",
    lead:
      "A [[round]] with [[draft length]] k yields 1 + α + α² + … + αᵏ tokens on average, if each tested token is accepted with the same " +
      "probability [[alpha|α]]. It costs k · [[c]] + [[v]] plain steps. The [[speed-up]] is yield divided by cost; c and v are measured.",
    run: "Run",
    live: "the run in Watch",
    name: RUN_NAME_EN,
    noRuns: "No recorded run is here yet.",
    loading: "Loading the recording …",
    failed: "The recording could not be loaded.",
    costs: "Costs of", costsFrom: { machine: "this machine", run: "the recording" },
    alpha: "Acceptance α",
    k: "Draft length k",
    c: "Draft step c",
    v: (more) => `Pass over k + 1 tokens v (${more ? "computed for a filled pass" : "measured"})`,
    reset: "As in this run",
    load: "Pass filled by other requests", loaded: (x) => (x === 0 ? "not at all" : x === 1 ? "fully" : `to ${percent(x)}`),
    many:
      "A server decodes for many people in one pass: verifying k tokens for each of 32 requests is a pass over 32 · (k + 1) tokens. " +
      "The fuller the pass, the more each further token costs; how many requests fill it depends on the machine. " +
      "The last slider says how full: not at all, a pass costs what was measured; fully, each token in it costs a whole plain step; " +
      "between, in proportion. That is computed, not measured. Move it to see where drafting stops paying.",
    big: (s) => (s >= 1 ? "expected, times plain speed" : "expected: slower here"),
    yields: (k, t, cost) => `A round of ${drafts(k)} yields ${fixed(t, 2)} tokens and costs ${fixed(cost, 2)} plain steps.`,
    slower: (k, t, parts) =>
      `Slower here, because a round of ${drafts(k)} costs ${fixed(parts.all, 2)} plain steps (${fixed(parts.draft, 2)} for drafting, ` +
      `${fixed(parts.pass, 2)} for the pass) and yields only ${fixed(t, 2)} tokens.`,
    breakEven: (k, a, now) =>
      a === null
        ? `With ${drafts(k)} it cannot pay at these costs, even if every token were accepted.`
        : a < 0.005
          ? `With ${drafts(k)} at these costs it always pays.`
          : `[[break-even|Break-even]]: with ${drafts(k)} it pays from α = ${probLong(a)} on${now >= a ? "" : `; α is ${probLong(now)} now`}.`,
    best: (k, s, a) =>
      k === 0
        ? `At α = ${probLong(a)} no draft length pays: the best is not to speculate.`
        : `The best draft length at α = ${probLong(a)} is ${k}: ${ratio(s)}.`,
    overLength: "Speed-up over draft length",
    overAlpha: "Speed-up over acceptance",
    lengthX: "draft length k",
    alphaX: "acceptance α",
    slowHere: "slower here",
    kLabel: (k) => `k = ${k}`,
    lengthHead: ["draft length", "expected speed-up", "tokens a round", "plain steps a round"], alphaHead: ["α", "expected speed-up"],
    lengthLabel: (a, k, s) => `Expected speed-up over draft length at alpha ${probLong(a)}; best at ${k}: ${ratio(s)}.`,
    alphaLabel: (k, a) => `Expected speed-up over alpha with ${drafts(k)}; ${a === null ? "never above 1" : `1 at alpha ${probLong(a)}`}.`,
    point: "this run, by the closed form", diamond: "this run, measured",
    today(f) {
      const head =
        `In this run ${f.accepted} of ${f.tested} tested tokens were accepted: α = ${probLong(f.alpha)}, ` +
        `and with 95 % confidence between ${probLong(f.interval[0])} and ${probLong(f.interval[1])}. `;
      const form = `The closed form (the formula above) gives ${ratio(f.expected[1])} (${ratio(f.expected[0])} to ${ratio(f.expected[2])})`;
      if (f.measured === null) return `${head}${form}; plain decoding was not measured.`;
      const whole =
        f.headline !== null && Math.abs(f.measured / f.headline - 1) > 0.03
          ? ` (${ratio(f.headline)} with the prompt's pass, which no draft shortens)`
          : "";
      if (f.elsewhere)
        return (
          `${head}${form} at the costs of this machine. The run itself was timed at its own: ${ratio(f.measured)}${whole}. ` +
          "Choose the recording's costs to compare the two."
        );
      const inside = f.measured >= f.expected[0] && f.measured <= f.expected[2];
      const width = f.expected[2] / f.expected[0] > 1.15 ? `is wide: ${f.tested} tested tokens cannot tell more` : "is narrow";
      const better =
        "The run did better: its costs were others than those shown here, or acceptance is not the same at every position.";
      const worse =
        "The run did worse: the closed form knows neither rounds that draft fewer than k tokens, nor time between the passes, " +
        "and a busy machine has other costs than those shown here.";
      const why = inside ? `That lies within the range, which ${width}.` : f.measured > f.expected[1] ? better : worse;
      return `${head}${form}; measured: ${ratio(f.measured)}${whole}. ${why}`;
    },
    todayTree: (f) =>
      "This run drafted trees, several tokens at a position; the closed form is for a chain, so the run is no point in these charts, " +
      "and the slider α is set to the share of rounds that accepted a token of the first level." +
      (f.measured === null ? "" : ` Measured: ${ratio(f.measured)}.`) +
      (f.cost ? ` A drafting round cost ${fixed(f.cost.cost, 2)} plain steps and yielded ${fixed(f.cost.yield, 2)} tokens.` : ""),
    slowRun: (cost) =>
      `Slower here, because a drafting round cost ${fixed(cost.cost, 2)} plain steps and yielded only ${fixed(cost.yield, 2)} tokens.`,
    noDraft: "Nothing was drafted in this run.",
  },
  shape: {
    title: "Why so many drafted tokens a round?",
    lead:
      "With the draft length on auto, each round takes the shape of draft for which the most tokens a second are expected: " +
      "from the measured cost of a [[pass]], the cost of a draft step and how often this draft was accepted so far. " +
      "Where none gains, nothing is drafted.",
    head: ["draft", "expected tokens", "expected time", "tokens/s", "rounds", "tokens that came", "time that came"],
    shape: ({ levels, nodes }) => (!levels ? "none" : nodes > levels ? `tree of ${nodes}, ${levels} deep` : `chain of ${levels}`),
    tokens: (n) => fixed(n, 2), rate: (n) => fixed(n, 1),
    sentence: ({ levels, nodes }, gain) =>
      !levels
        ? "Before the run, no draft was expected to gain on this machine."
        : `Before the run, a ${nodes > levels ? `tree of ${nodes} tokens` : levels === 1 ? "draft of one token" : `chain of ${levels} tokens`} ` +
          `was expected to be the fastest: ${fixed(gain, 2)} times plain decoding.`,
  },
  position: {
    title: "Acceptance by position",
    lead:
      "The closed form gives every tested token the same chance. " +
      "Then the share of rounds that accept the i-th drafted token falls as αⁱ (circles). " +
      "Bars: this run, over the rounds that drafted an i-th token; whiskers: 95 %.",
    head: ["position", "accepted", "drafted", "share", "95 %", "αⁱ"],
    label: (rows) => `Acceptance by position. ${rows.join(" ")}`,
    row: (i, share, a) => `Position ${i}: ${percent(share)}, expected ${percent(a)}.`,
    x: "position in the draft", bar: "this run", iid: "αⁱ",
    // Every position is compared with αⁱ, not the first alone.
    sentence(rows) {
      const more = rows.flatMap((r, i) => (r.interval[0] > r.iid ? [i + 1] : []));
      const fewer = rows.flatMap((r, i) => (r.interval[1] < r.iid ? [i + 1] : []));
      if (!more.length && !fewer.length) return "At every position αⁱ is inside the whisker: the run does not contradict equal chances.";
      return [
        more.length
          ? `At ${places(more)} more is accepted than with equal chances: where the first tokens fit, the text is easy and the next ones fit too.`
          : "",
        fewer.length ? `At ${places(fewer)} less is accepted than with equal chances: later tokens build on the draft's own tokens.` : "",
      ]
        .filter(Boolean)
        .join(" ");
    },
  },
};
