// "Methods" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, lower, percent, ratio, secs, upTo } from "../../page/numbers.js";
import { GLOSSARY_EN } from "./glossary.js";

const METHOD_NAMES_EN = {
  draft: "Draft model",
  eagle: "EAGLE",
  medusa: "Medusa",
  lookup: "Prompt lookup (n-gram)",
  suffix: "Suffix decoding",
  "lookup+draft": "Prompt lookup, then draft model",
  "lookup+eagle": "Prompt lookup, then EAGLE",
  "early-exit": "Self-speculative (early exit)",
  plain: "Plain decoding",
};
// The plain word for each, beside its name.
const METHOD_HINTS_EN = {
  draft: "a small model",
  eagle: "one trained layer",
  medusa: "several trained heads",
  lookup: "earlier text",
  suffix: "habits",
  "lookup+draft": "earlier text, else a small model",
  "lookup+eagle": "earlier text, else a trained layer",
  "early-exit": "own layers",
  plain: "nobody drafts",
};
const EXAMPLE_NAMES_EN = { chat: "chat", list: "list", story: "story", code: "coding", edit: "edit", summary: "summary",
  tool: "tool call", extract: "extraction" };
export const EXAMPLE_NAME_EN = (name) => EXAMPLE_NAMES_EN[name] ?? name;
export const METHOD_NAME_EN = (name) => METHOD_NAMES_EN[name] ?? name;
export const RUN_NAME_EN = (r) => `${EXAMPLE_NAME_EN(r.example)} · ${METHOD_NAME_EN(r.method)}`;
const mb = (n) => `${Math.max(1, Math.round(n / 1e6))} MB`;

export const METHODS_EN = {
  glossary: GLOSSARY_EN,
  names: METHOD_NAMES_EN, hints: METHOD_HINTS_EN, examples: EXAMPLE_NAMES_EN,
  title: "Methods: where the draft comes from",
  lead:
    "All methods verify in the same way, so all of them keep the [[distribution|distribution (the chance of each text)]] of the [[target]]. " +
    "They differ in what makes the [[draft]], what that costs, and how many drafted tokens are accepted.",
  length: "The [[draft length]], num_speculative_tokens in vLLM, is how many tokens are drafted a round.",
  labels: { proposes: "Proposer", memory: "Memory", needs: "Needs", choose: "Choose it when", paper: "Paper", here: "Here" },
  cards: {
    draft: {
      proposes: "A second, much smaller model drafts token by token.",
      memory: "The small model's weights and its own cache.",
      needs: "A second model with the same [[token|tokens]]; a general one can be fine-tuned towards the target.",
      choose: "a small relative of the target exists and a draft step costs a few hundredths of a target pass.",
      papers: [
        "Leviathan, Kalman, Matias: Fast Inference from Transformers via Speculative Decoding. 2023, arxiv.org/abs/2211.17192",
        "Chen et al.: Accelerating Large Language Model Decoding with Speculative Sampling. 2023, arxiv.org/abs/2302.01318",
      ],
    },
    lookup: {
      proposes: "The text itself: the tokens that followed the same n-gram earlier in the prompt or the answer.",
      memory: "Nothing.",
      needs: "Nothing: no model, no training.",
      choose:
        "the answer repeats the prompt: editing, summaries, code, questions about a text. " +
        "In free text it finds few matches, and a search costs next to nothing.",
      papers: ["Saxena: Prompt Lookup Decoding. 2023, github.com/apoorvumang/prompt-lookup-decoding"],
    },
    suffix: {
      proposes: "A suffix tree: the tokens that most often followed the same tokens in this text and in earlier answers.",
      memory: "The suffix tree, some bytes for each token.",
      needs: "Earlier answers of the same kind; no training.",
      choose: "the same kind of request comes again and again: agents, forms, reports.",
      papers: ["Oliaro et al.: SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications. 2024, arxiv.org/abs/2411.04975"],
    },
    "early-exit": {
      proposes: "The target's own first layers; drafting skips the others.",
      memory: "Nothing more.",
      needs: "A target trained to exit early. Other targets draft badly with half of their layers.",
      choose: "the target was trained for it and memory is short.",
      papers: [
        "Elhoushi et al.: LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding. 2024, arxiv.org/abs/2404.16710",
        "Zhang et al.: Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding. 2023, arxiv.org/abs/2309.08168",
      ],
    },
    medusa: {
      proposes: "Several small heads on the target's last hidden state; the i-th predicts the i-th next token.",
      memory: "The heads' weights; no cache of their own.",
      needs: "Training the heads for this target, some hours of a GPU for a large one.",
      choose:
        "drafting must take one step, whatever the draft length. " +
        "The heads do not see each other's tokens, so later positions are accepted less often.",
      papers: ["Cai et al.: Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads. 2024, arxiv.org/abs/2401.10774"],
    },
    eagle: {
      proposes: "One layer that reads the target's hidden states and drafts token by token.",
      memory: "One layer's weights and a small cache.",
      needs: "Training the head for this target.",
      choose: "a head for your target exists or can be trained: in the papers it has the best acceptance for its cost.",
      papers: [
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
        "Li et al.: EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees. 2024, arxiv.org/abs/2406.16858",
        "Li et al.: EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test. 2025, arxiv.org/abs/2503.01840",
      ],
    },
    "lookup+draft": {
      proposes: "Prompt lookup where it finds a long match, else the draft model.",
      memory: "As the draft model.",
      needs: "What the draft model needs.",
      choose: "some requests repeat their prompt and others do not.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (drafters in a row, the same idea)",
      ],
    },
    "lookup+eagle": { proposes: "Prompt lookup where it finds a long match, else the EAGLE head.", memory: "As EAGLE.", needs: "What EAGLE needs.",
      choose: "some requests repeat their prompt and others do not, and a head for the target exists.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (drafters in a row, the same idea)",
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
      ] },
    plain: { proposes: "Nobody drafts; the target makes one [[pass]] for each token.", memory: "Nothing more.", needs: "Nothing.",
      choose:
        "too few drafted tokens are accepted, the machine serves many requests at once, or a pass over several tokens is expensive. " +
        "Then speculation is slower.",
      papers: ["Vaswani et al.: Attention Is All You Need. 2017, arxiv.org/abs/1706.03762 (the decoder itself)"] },
  },
  tune: {
    title: "By layer",
    exitHead: "exit after layer",
    skipHead: "skipped layers",
    head: ["first token accepted", "tokens a round", "of plain speed"],
    exit: (n) => `exit after layer ${n}`,
    skip: (n) => `layers ${n} skipped`,
    more: (n) => `Layers skipped in the middle: ${n} settings`,
    best: (name, x) =>
      x > 1
        ? `Measured best: ${name}, ${ratio(x)} of plain speed.`
        : `Measured best: ${name}, ${ratio(x)} of plain speed. With this target it does not pay at any setting tried.`,
    from: (target, prompts, n) => `Measured with ${target}: ${prompts} prompts, ${n} new tokens each, beside plain decoding of the same.`,
  },
  size: (bytes) => `Here: ${mb(bytes)} of weights.`,
  none: "No recorded run of it is here yet.",
  figure(r) {
    const accepted = r.tested
      ? `, ${percent(r.accepted / r.tested)} of tested tokens accepted (${r.accepted} of ` +
        `${r.tested}${r.several ? ", several candidates at a position, of which one can be accepted" : ""})`
      : "";
    return r.ratio === null ? `speed-up not measured${accepted}` : `${ratio(r.ratio)} of plain speed${accepted}`;
  },
  slower: (r) =>
    r.ratio !== null && r.ratio < 1
      ? r.cost !== null && r.tokens_per_round !== null
        ? `Slower here, because a drafting round costs ${fixed(r.cost, 2)} plain steps and yields only ${fixed(r.tokens_per_round, 2)} tokens.`
        : "Slower here, because its rounds yield less than they cost."
      : "",
  lossy: "lossy: the output distribution differs from the target's",
  play: (r) => `Open ${r.example} in Watch`, playShort: "Open in Watch",
  race: { title: "Side by side: one prompt, several methods, one clock",
    lead: "Each run was recorded alone and is replayed here. Runs at the same time would slow each other down.",
    example: "Prompt",
    methods: "Methods",
    none: "No recorded run is here yet.",
    loading: "Loading the recordings …",
    failed: "A recording could not be loaded.",
    play: "Play",
    hint: "Press Play: all begin at once.",
    pause: "Pause",
    again: "From the start",
    speed: "Speed, times the recorded speed",
    clock: "Clock",
    at: (t) => secs(t),
    state: (n, t) => `${n} tokens`, done: (n, t) => `${n} tokens after ${secs(t)}: done`, lane: (name) => `Text of ${name}`,
    plainFrom: (name) => `Timed beside this run, with the same prompt: ${name}`,
    noText: "Only the times of this plain run were recorded, not its text: each token is a dot",
    noPlain: "Plain decoding was not measured for this prompt.",
    sameTokens: (n) => `All lanes end at the same number of tokens, ${n}: the shortest recording has no more.`,
    stretched:
      "The machine was not equally fast at every recording, but each one was timed beside a plain run of its own. " +
      "Every clock here is scaled so that those plain runs take the same time.",
    sampled: (some) =>
      (
        `${some ? "The runs with a temperature were" : "These runs were"} sampled: ` +
        "each text is another random draw, so the texts differ. All methods share the distribution, the chance of every text. " +
        `${some ? "Runs at temperature 0 have the same text, up to ties that rounding decides." : ""}`
      ).trim(),
    oneText:
      "These runs were sampled with the same dice for everybody (--verify coupled): one seed, so every method writes the text of plain decoding, " +
      "up to ties that rounding decides.",
    greedy: "At temperature 0 nothing is random: every method writes the text of plain decoding, up to ties that rounding decides.",
    conclusion(lanes, n) {
      const best = lanes[0];
      const rest = lanes.slice(1);
      const more = (l) => (l.ratio === null ? "" : `, ${ratio(l.ratio)} of plain`);
      const names = lanes.filter((l) => best.rate / l.rate < 1.03).map((l) => l.name);
      const level = names.length > 1 ? ` ${names.join(" and ")} lie within 3 % of each other, which single timings cannot tell apart.` : "";
      return rest.length
        ? `First over these ${n} tokens: ${best.name} with ${fixed(best.rate, 1)} tokens a second${more(best)}; ` +
            `then ${rest.map((l) => `${l.name} ${fixed(l.rate, 1)}${more(l)}`).join("; ")}. The cards below are about the whole recordings.${level}`
        : `${best.name}: ${fixed(best.rate, 1)} tokens a second.`;
    },
    heat: (t) => `temperature ${upTo(t, 2)}`,
    because: (name, why) => `${name}: ${lower(why)}`,
    differ: "These recordings were not all made with the same settings (the temperature, say) or on the same machine: compare with care.",
    head: ["method", "tokens", "seconds", "tokens a second", "of plain speed, over these", "over the whole recording"],
    table: "As a table",
    legend: { accepted: "accepted", recovered: "resampled", bonus: "bonus", plain: "plain" },
  },
};
