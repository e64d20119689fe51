// "Why it is faster, and when not" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { ms, percent, probLong, ratio } from "./numbers.js";
import { METHOD_NAMES_EN } from "./words_methods_en.js";
import { GLOSSARY_EN } from "./words_glossary_en.js";

const bytes = (n) => (n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : `${Math.round(n / 1e6)} MB`);
const drafts = (k) => (k === 1 ? "one draft" : `${k} drafts`);
const tokens = (n) => (n === 1 ? "one token" : `${n} tokens`);

export const FASTER_EN = {
  glossary: GLOSSARY_EN,
  table: "As a table",
  costs: {
    title: "Why it can be faster: checking five tokens costs little more than writing one",
    lead: "To write one token the [[target]] must read all its weights once, and reading them is most of the work. If it looks at several tokens in the same [[pass]], the weights are read only once. [[plain decoding|Plain decoding]] reads them anew for each token.",
    chart: "Time of one target pass over n tokens", x: "tokens in one pass", measured: "measured", separate: "n passes, one token each", floor: "weights ÷ memory speed",
    head: ["tokens in the pass", "measured", "times one token", "n separate passes"],
    label: (rows) => `Time of one target pass. ${rows.join(" ")}`, row: (n, s) => `${tokens(n)}: ${ms(s)}.`,
    sentence: (n, v, one, five) => `Here a pass over ${tokens(n)} takes ${ms(five)}, ${v.toFixed(2)} times a pass over one token (${ms(one)}). ${n} passes for one token each would take ${ms(n * one)}.`,
    noisy: "A pass over more tokens cannot be quicker than over one: this machine was busy with something else while it was measured. Measure again when it is quiet.",
    floorSentence: (c, s, share) => `The weights are ${bytes(c.weights)}. Memory here delivers ${bytes(c.memory)} a second, so reading them takes at least ${ms(s)}: ${share >= 0.995 ? "as long as" : `${percent(share)} of`} a pass for one token.`,
    noFloor: "The size of the weights over the speed of memory appears once this machine is measured.",
    from: { machine: (c) => `Measured on this machine: ${c.device ?? "?"}${c.threads ? `, ${c.threads === 1 ? "one thread" : `${c.threads} threads`}` : ""}.`, run: (what) => `From the recording, not from your machine: ${what}.` },
    measure: "Measure this machine", again: "Measure again", busy: "Measuring: some seconds in which nothing else runs …", waiting: "Waiting for the model …",
  },
  model: {
    title: "When it pays: what a round yields against what it costs",
    lead: "A [[round]] with k drafts yields 1 + α + α² + … + αᵏ tokens on average, if each tested draft is kept with the same chance [[alpha|α]]. It costs k · [[c]] + [[v]] plain steps. The [[speed-up]] is the one over the other; c and v are measured.",
    run: "Run", live: "the run in Watch", name: (r) => `${r.example} · ${METHOD_NAMES_EN[r.method] ?? r.method}`, noRuns: "No recorded run is here yet.", loading: "Loading the recording …", failed: "The recording could not be loaded.",
    costs: "Costs of", costsFrom: { machine: "this machine", run: "the recording" },
    alpha: "Acceptance α", k: "Draft length k", c: "Draft step c", reset: "As in this run",
    big: (s) => (s >= 1 ? "expected, times plain speed" : "expected: slower here"),
    yields: (k, t, cost) => `A round of ${drafts(k)} yields ${t.toFixed(2)} tokens and costs ${cost.toFixed(2)} plain steps.`,
    slower: (k, t, parts) => `Slower here, because a round of ${drafts(k)} costs ${parts.all.toFixed(2)} plain steps (${parts.draft.toFixed(2)} for drafting, ${parts.pass.toFixed(2)} for the pass) and yields only ${t.toFixed(2)} tokens.`,
    breakEven: (k, a, now) => (a === null ? `With ${drafts(k)} it cannot pay at these costs, even if every draft were kept.` : a < 0.005 ? `With ${drafts(k)} at these costs it always pays.` : `[[break-even|Break-even]]: with ${drafts(k)} it pays from α = ${probLong(a)} on${now >= a ? "" : `; α is ${probLong(now)} now`}.`),
    best: (k, s, a) => (k === 0 ? `At α = ${probLong(a)} no draft length pays: the best is not to speculate.` : `The best draft length at α = ${probLong(a)} is ${k}: ${ratio(s)}.`),
    overLength: "Speed-up over draft length", overAlpha: "Speed-up over acceptance", lengthX: "draft length k", alphaX: "acceptance α", slowHere: "slower here", kLabel: (k) => `k = ${k}`,
    lengthHead: ["draft length", "expected speed-up", "tokens a round", "plain steps a round"], alphaHead: ["α", "expected speed-up"],
    lengthLabel: (a, k, s) => `Expected speed-up over draft length at alpha ${probLong(a)}; best at ${k}: ${ratio(s)}.`, alphaLabel: (k, a) => `Expected speed-up over alpha with ${drafts(k)}; ${a === null ? "never above 1" : `1 at alpha ${probLong(a)}`}.`,
    point: "this run, by the closed form", diamond: "this run, measured",
    today(f) {
      const head = `In this run ${f.accepted} of ${f.tested} tested drafts were kept: α = ${probLong(f.alpha)}, and with 95 % confidence between ${probLong(f.interval[0])} and ${probLong(f.interval[1])}. `;
      const form = `The closed form makes ${ratio(f.expected[1])} of it (${ratio(f.expected[0])} to ${ratio(f.expected[2])})`;
      if (f.measured === null) return `${head}${form}; plain decoding was not measured.`;
      const inside = f.measured >= f.expected[0] && f.measured <= f.expected[2];
      return `${head}${form}; measured: ${ratio(f.measured)}. ${inside ? "The two agree." : f.measured > f.expected[1] ? "The run did better: its costs, when it ran, were not those shown here, or acceptance is not the same at every place." : "The run did worse: the form knows no time between the passes, and a busy machine does not keep to the costs shown here."}`;
    },
    slowRun: (cost) => `Slower here, because a drafting round cost ${cost.cost.toFixed(2)} plain steps and yielded only ${cost.yield.toFixed(2)} tokens.`,
    noDraft: "Nothing was drafted in this run.",
  },
  position: {
    title: "Acceptance by position",
    lead: "The closed form takes every draft for equally likely to be kept. Then the share of rounds that keep the i-th draft falls as αⁱ (circles). Bars: what this run did, over the rounds that drafted an i-th token; whiskers: 95 %.",
    head: ["position", "accepted", "drafted", "share", "95 %", "αⁱ"], label: (rows) => `Acceptance by position. ${rows.join(" ")}`, row: (i, share, a) => `Position ${i}: ${percent(share)}, expected ${percent(a)}.`,
    x: "position in the draft", bar: "this run", iid: "αⁱ",
    sentence: (first, [low, high], alpha) => (low > alpha ? "The first draft is kept more often than the average: later drafts stand on the draft's own guesses and fit less well." : high < alpha ? "The first draft is kept less often than the average: where the first one fits, the text is easy and the later ones fit too." : `At the first position the run fits the assumption: α = ${probLong(alpha)} lies inside the whisker of ${percent(first)}.`),
  },
};
