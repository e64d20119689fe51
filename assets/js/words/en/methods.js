// "Methods" in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { fixed, lower, percent, ratio, secs, upTo } from "../../page/numbers.js";
import { GLOSSARY_EN } from "./glossary.js";

const METHOD_NAMES_EN = {
  plain: "plain decoding",
  draft: "draft model",
  lookup: "earlier text",
  suffix: "habits",
  "early-exit": "own layers",
  medusa: "Medusa",
  eagle: "EAGLE",
  "lookup+draft": "earlier text or draft model",
  "lookup+eagle": "earlier text or EAGLE",
};
const EXAMPLE_NAMES_EN = { chat: "chat", list: "list", story: "story", code: "coding", edit: "edit", summary: "summary" };
export const RUN_NAME_EN = (r) => `${EXAMPLE_NAMES_EN[r.example] ?? r.example} · ${METHOD_NAMES_EN[r.method] ?? r.method}`;
const mb = (n) => `${Math.max(1, Math.round(n / 1e6))} MB`;

export const METHODS_EN = {
  glossary: GLOSSARY_EN,
  names: METHOD_NAMES_EN, examples: EXAMPLE_NAMES_EN,
  title: "Who may propose",
  lead:
    "The check is the same for all of them, so all of them keep the [[distribution|distribution (the chance of each text)]] of the [[target]]. " +
    "They differ in who makes the [[draft]], what that costs, and how often it is right.",
  labels: { proposes: "Who proposes", memory: "Memory", needs: "Needs", choose: "Choose it when", paper: "Paper", here: "Here" },
  cards: {
    draft: {
      proposes: "A second, much smaller model writes ahead, token by token.",
      memory: "The small model's weights and its own cache.",
      needs: "A second model with the same [[token|tokens]]; a general one may be tuned to the target.",
      choose: "a small relative of the target exists and a draft step costs a few hundredths of a target pass.",
      papers: [
        "Leviathan, Kalman, Matias: Fast Inference from Transformers via Speculative Decoding. 2023, arxiv.org/abs/2211.17192",
        "Chen et al.: Accelerating Large Language Model Decoding with Speculative Sampling. 2023, arxiv.org/abs/2302.01318",
      ],
    },
    lookup: {
      proposes: "The text itself: what followed the same few tokens earlier in prompt or answer.",
      memory: "Nothing.",
      needs: "Nothing: no model, no training.",
      choose:
        "the answer repeats the prompt: editing, summaries, code, questions about a text. " +
        "In free text it finds little and then costs next to nothing.",
      papers: ["Saxena: Prompt Lookup Decoding. 2023, github.com/apoorvumang/prompt-lookup-decoding"],
    },
    suffix: {
      proposes: "Counts of what most often followed the same tokens, in this text and in earlier answers.",
      memory: "A tree of the texts seen, some bytes for each token.",
      needs: "Earlier answers of the same kind; no training.",
      choose: "the same kind of request comes again and again: agents, forms, reports.",
      papers: ["Oliaro et al.: SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications. 2024, arxiv.org/abs/2411.04975"],
    },
    "early-exit": {
      proposes: "The target's own first layers; the rest of its layers are left out while drafting.",
      memory: "Nothing more.",
      needs: "A target trained to exit early. Others guess badly from half their layers.",
      choose: "the target was trained for it and memory is short.",
      papers: [
        "Elhoushi et al.: LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding. 2024, arxiv.org/abs/2404.16710",
        "Zhang et al.: Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding. 2023, arxiv.org/abs/2309.08168",
      ],
    },
    medusa: {
      proposes: "Several small heads on the target's last state; the i-th guesses the i-th next token.",
      memory: "The heads' weights; no cache of their own.",
      needs: "Training the heads for this target, some hours of a GPU for a large one.",
      choose: "drafting must be one step, whatever its length. The heads do not see each other's guesses: later positions fit less well.",
      papers: ["Cai et al.: Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads. 2024, arxiv.org/abs/2401.10774"],
    },
    eagle: {
      proposes: "One layer that reads the target's inner states and writes ahead, each guess seeing the one before.",
      memory: "One layer's weights and a small cache.",
      needs: "Training the head for this target.",
      choose: "a head for your target exists or can be trained: in the papers the best guesses for their price.",
      papers: [
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
        "Li et al.: EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees. 2024, arxiv.org/abs/2406.16858",
        "Li et al.: EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test. 2025, arxiv.org/abs/2503.01840",
      ],
    },
    "lookup+draft": {
      proposes: "Earlier text where a long match is found, else the draft model.",
      memory: "As the draft model.",
      needs: "What the draft model needs.",
      choose: "some requests repeat their prompt and others do not.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (drafters in a row, the same idea)",
      ],
    },
    "lookup+eagle": { proposes: "Earlier text where a long match is found, else the EAGLE head.", memory: "As EAGLE.", needs: "What EAGLE needs.",
      choose: "some requests repeat their prompt and others do not, and a head for the target exists.",
      papers: [
        "Chen et al.: Cascade Speculative Drafting for Even Faster LLM Inference. 2023, arxiv.org/abs/2312.11462 (drafters in a row, the same idea)",
        "Li et al.: EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty. 2024, arxiv.org/abs/2401.15077",
      ] },
    plain: { proposes: "Nobody: one target [[pass]] for each token.", memory: "Nothing more.", needs: "Nothing.",
      choose:
        "no draft is accepted often enough, the machine computes many requests at once, or a pass over several tokens is dear. " +
        "Then speculation is slower.",
      papers: ["Vaswani et al.: Attention Is All You Need. 2017, arxiv.org/abs/1706.03762 (the decoder itself)"] },
  },
  tune: {
    title: "By layer",
    exitHead: "exit after layer",
    skipHead: "layers left out",
    head: ["first guess accepted", "tokens a round", "of plain speed"],
    exit: (n) => `exit after layer ${n}`,
    skip: (n) => `layers ${n} left out`,
    more: (n) => `Layers left out in the middle: ${n} settings`,
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
      ? `, ${percent(r.accepted / r.tested)} of tested drafts accepted (${r.accepted} of ` +
        `${r.tested}${r.several ? ", several offered at a place, of which one can be accepted" : ""})`
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
    lead: "Each was recorded alone, one after the other, and is replayed here. Running them at the same time would falsify all of them.",
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
    plainFrom: (name) => `Timed right beside the run of ${name}, on the same prompt`,
    noText: "Of this plain run only the times were recorded, not the text: each token is a dot",
    noPlain: "Plain decoding was not measured for this prompt.",
    sameTokens: (n) => `All run to the same mark: the first ${n} tokens, which is as far as the shortest recording goes.`,
    stretched:
      "The machine was not equally quick at every recording, but each was timed beside plain decoding of its own: " +
      "every clock here is set so that those plain runs take the same time.",
    sampled: (some) =>
      (
        `${some ? "The runs with a temperature were" : "These runs were"} sampled: ` +
        "each text is another throw of the dice, so the texts differ. What all methods share is the chance of every text. " +
        `${some ? "Runs at temperature 0 agree in the text, up to ties that rounding decides." : ""}`
      ).trim(),
    greedy: "At temperature 0 nothing is left to chance: every method writes the text of plain decoding, up to ties that rounding decides.",
    verdict(lanes, n) {
      const best = lanes[0];
      const rest = lanes.slice(1);
      const more = (l) => (l.ratio === null ? "" : `, ${ratio(l.ratio)} of plain`);
      const names = lanes.filter((l) => best.rate / l.rate < 1.03).map((l) => l.name);
      const level = names.length > 1 ? ` ${names.join(" and ")} lie within 3 % of each other: level, as far as single timings can tell.` : "";
      return rest.length
        ? `First over these ${n} tokens: ${best.name} with ${fixed(best.rate, 1)} tokens a second${more(best)}; ` +
            `then ${rest.map((l) => `${l.name} ${fixed(l.rate, 1)}${more(l)}`).join("; ")}. The cards below tell of the whole recordings.${level}`
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
