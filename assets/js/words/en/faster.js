// "Why it is faster, and when not" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, ms, percent, probLong, ratio } from "../../page/numbers.js";
import { RUN_NAME_EN } from "./methods.js";
import { GLOSSARY_EN } from "./glossary.js";

const bytes = (n) => (n >= 1e9 ? `${fixed(n / 1e9, 1)} GB` : `${Math.round(n / 1e6)} MB`);
const drafts = (k) => (k === 1 ? "one draft" : `${k} drafts`);
const places = (all) => (all.length === 1 ? `position ${all[0]}` : `positions ${all.join(", ")}`);
const tokens = (n) => (n === 1 ? "one token" : `${n} tokens`);

export const FASTER_EN = {
  glossary: GLOSSARY_EN, ms,
  table: "As a table",
  costs: {
    title: "Why it can be faster: checking five tokens costs little more than writing one",
    lead:
      "To write one token the [[target]] must go through all its weights once. " +
      "Much of such a [[pass]] is spent once, however many tokens it looks at: " +
      "the weights are read from memory, which for a large model is most of the work, and each computation has to be started. " +
      "Several tokens in the same pass share that; [[plain decoding]] spends it anew for each token.",
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
    noisy: "A pass over more tokens cannot be quicker than over one: where it was timed so, that is noise, and below it is taken to cost the same.",
    refused: (n, v, before) =>
      `Not used: a pass over ${tokens(n)} was timed at ${fixed(v, 2)} times a pass over one, but it does at least the same work. ` +
      `This machine was busy with something else. ${before ? "What was measured before stays in use" : "The recording's costs stay in use"}; ` +
      "measure again when it is quiet.",
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
        "for each token in it";
      if (share >= 0.5) return `${head} ${parts}: most of what is spent once is that reading.`;
      const five =
        more.five < 2
          ? `what is spent once is shared by all, and so a pass over 5 still takes only ${fixed(more.five, 2)} times one.`
          : `so little is shared, and a pass over 5 takes ${fixed(more.five, 2)} times one.`;
      return (
        `${head} So on this machine reading is the smaller part; the rest is arithmetic and the fixed work of starting it. ` +
        `${parts}; ${five}`
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
      "Passes are timed here only when you press this. It takes some seconds and is best done on a quiet machine; " +
      "the charts below then use these costs.",
    busy: "Measuring: some seconds in which nothing else runs …", waiting: "Waiting for the model …",
  },
  model: {
    title: "When it pays: what a round yields against what it costs",
    lead:
      "A [[round]] with k drafts yields 1 + α + α² + … + αᵏ tokens on average, if each tested draft is accepted with the same chance " +
      "[[alpha|α]]. It costs k · [[c]] + [[v]] plain steps. The [[speed-up]] is that yield divided by that cost; c and v are measured.",
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
    load: "Pass filled by other requests", loaded: (x) => (x === 0 ? "not at all" : x === 1 ? "wholly" : `to ${percent(x)}`),
    many:
      "A server writes for many people in one pass: checking k drafts for each of 32 requests is a pass over 32 · (k + 1) tokens. " +
      "The fuller the pass, the less is free in it; how many requests fill it depends on the machine. " +
      "The last slider says how full: not at all, a pass costs what was measured; wholly, each token in it costs a whole plain step; " +
      "between, in proportion. That is computed, not measured. Pull it to see where drafting stops paying.",
    big: (s) => (s >= 1 ? "expected, times plain speed" : "expected: slower here"),
    yields: (k, t, cost) => `A round of ${drafts(k)} yields ${fixed(t, 2)} tokens and costs ${fixed(cost, 2)} plain steps.`,
    slower: (k, t, parts) =>
      `Slower here, because a round of ${drafts(k)} costs ${fixed(parts.all, 2)} plain steps (${fixed(parts.draft, 2)} for drafting, ` +
      `${fixed(parts.pass, 2)} for the pass) and yields only ${fixed(t, 2)} tokens.`,
    breakEven: (k, a, now) =>
      a === null
        ? `With ${drafts(k)} it cannot pay at these costs, even if every draft were accepted.`
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
        `In this run ${f.accepted} of ${f.tested} tested drafts were accepted: α = ${probLong(f.alpha)}, ` +
        `and with 95 % confidence between ${probLong(f.interval[0])} and ${probLong(f.interval[1])}. `;
      const form = `The closed form (the formula above) makes ${ratio(f.expected[1])} of it (${ratio(f.expected[0])} to ${ratio(f.expected[2])})`;
      if (f.measured === null) return `${head}${form}; plain decoding was not measured.`;
      const whole =
        f.headline !== null && Math.abs(f.measured / f.headline - 1) > 0.03
          ? ` (${ratio(f.headline)} with the prompt's pass, which no draft makes shorter)`
          : "";
      if (f.elsewhere)
        return (
          `${head}${form} at the costs of this machine. The run itself was timed at its own: ${ratio(f.measured)}${whole}. ` +
          "Choose the recording's costs to compare the two."
        );
      const inside = f.measured >= f.expected[0] && f.measured <= f.expected[2];
      const width = f.expected[2] / f.expected[0] > 1.15 ? `is wide: ${f.tested} tested drafts cannot say more` : "is narrow";
      const better =
        "The run did better: its costs, when it ran, were not those shown here, or acceptance is not the same at every place.";
      const worse =
        "The run did worse: the form knows neither rounds that draft less than k or nothing at all, nor time between the passes, " +
        "and a busy machine does not keep to the costs shown here.";
      const why = inside ? `That lies within the range, which ${width}.` : f.measured > f.expected[1] ? better : worse;
      return `${head}${form}; measured: ${ratio(f.measured)}${whole}. ${why}`;
    },
    todayTree: (f) =>
      "This run drafted trees, several tokens at a place; the closed form is for one chain of guesses, so the run is no point in these charts, " +
      "and the slider α stands at the share of rounds that accepted a token of the first level." +
      (f.measured === null ? "" : ` Measured: ${ratio(f.measured)}.`) +
      (f.cost ? ` A drafting round cost ${fixed(f.cost.cost, 2)} plain steps and yielded ${fixed(f.cost.yield, 2)} tokens.` : ""),
    slowRun: (cost) =>
      `Slower here, because a drafting round cost ${fixed(cost.cost, 2)} plain steps and yielded only ${fixed(cost.yield, 2)} tokens.`,
    noDraft: "Nothing was drafted in this run.",
  },
  position: {
    title: "Acceptance by position",
    lead:
      "The closed form takes every draft for equally likely to be accepted. " +
      "Then the share of rounds that accept the i-th draft falls as αⁱ (circles). " +
      "Bars: what this run did, over the rounds that drafted an i-th token; whiskers: 95 %.",
    head: ["position", "accepted", "drafted", "share", "95 %", "αⁱ"],
    label: (rows) => `Acceptance by position. ${rows.join(" ")}`,
    row: (i, share, a) => `Position ${i}: ${percent(share)}, expected ${percent(a)}.`,
    x: "position in the draft", bar: "this run", iid: "αⁱ",
    // Every position is told of, not the first alone.
    sentence(rows) {
      const more = rows.flatMap((r, i) => (r.interval[0] > r.iid ? [i + 1] : []));
      const fewer = rows.flatMap((r, i) => (r.interval[1] < r.iid ? [i + 1] : []));
      if (!more.length && !fewer.length) return "At every position αⁱ lies inside the whisker: the run does not contradict equal chances.";
      return [
        more.length
          ? `At ${places(more)} more is accepted than equal chances would give: where the first guesses fit, ` +
            "the text is easy and the next ones fit too."
          : "",
        fewer.length ? `At ${places(fewer)} less is accepted than equal chances would give: later drafts stand on the draft's own guesses.` : "",
      ]
        .filter(Boolean)
        .join(" ");
    },
  },
};
