// Every sentence the player says, in English. A translation is one more file with the same keys.
import { capital, count, fixed, ms, probLong, ratio, secs, times, upTo } from "../../page/numbers.js";
import { quoted, short } from "../../page/glyphs.js";
import { apart } from "../../page/printed.js";
import { likelierDraft } from "../../trace/steps.js";
import { isCoupled } from "../../trace/trace.js";
import { TOKENS_EN } from "./tokens.js";

const tokens = (n) => (n === 1 ? "one token" : `${count(n)} tokens`);
const list = (parts) => parts.join(", ");

export const EN = {
  ...TOKENS_EN,

  aria: {
    result: "Result",
    legend: "Legend: press an entry to single out its tokens in the text",
    filter: (kind) => `Show only what is ${kind} in the text`,
    cards: "Tokens of this round, in the order in which they are verified",
    text: "Generated text, token by token",
  },
  soFar: (x, r) => `${x} up to round ${r}`,
  given: "Given:", prompt: "Prompt:", allWords: "All terms",
  offlineNote: "Saved from Specscope: one recorded run, no connection needed.",
  settingsTitle: "Settings of this method",
  settings: {
    tree: [
      "Shape of the draft",
      "chain: one token after another. auto: more branches where the draft is unsure. " +
        "3x2x1: three candidates for the next token, two after each, then one",
    ],
    vocab: ["Vocabulary", "intersect: a draft with another tokenizer, on the tokens both have"],
    tree_tokens: ["Drafted tokens a round", "nodes of a tree; speculative_num_draft_tokens in SGLang"],
    tree_depth: ["Depth of the tree", "levels, where the shape does not give them; speculative_num_steps in SGLang"],
    tree_top_k: ["Branches of a node", "tokens that may follow one; speculative_eagle_topk in SGLang"],
    exit_layer: ["Exit layer", "how many layers the draft runs: a number, or a fraction of all"],
    skip_layers: ["Skipped layers", "instead of an exit layer: 8-20,24"],
    confidence: ["Confidence threshold", "the draft ends after a token less likely than this"],
    ngram_max: ["Longest n-gram", "tokens that must match, tried first; prompt_lookup_max in vLLM"],
    ngram_min: ["Shortest n-gram", "fewest tokens that count as a match; prompt_lookup_min in vLLM"],
    lookup_match: ["Which match", "of several: the first in the text, or the most recent"],
    suffix_confidence: ["Confidence threshold", "the draft ends where its estimated probability falls below this"],
    lookup_min: ["Shortest match before the draft", "tokens that must match for prompt lookup to go first"],
  },

  roundTitle(r, round, final, atLimit) {
    if (!round.drafted.length)
      return r === 0
        ? "Round 0: the target reads the prompt and writes the first token"
        : `Round ${r}: ${atLimit ? "one token left to the limit, so nothing was drafted" : "nothing drafted, one token from the target alone"}`;
    const n = (v) => round.drafted.filter((d) => d.verdict === v).length;
    const parts = [`${count(round.drafted.length)} drafted`];
    if (!final) return `Round ${r}: ${parts[0]}`;
    parts.push(`${n("accepted") === round.drafted.length ? "all" : n("accepted") ? count(n("accepted")) : "none"} accepted`);
    const end = round.emitted.find((e) => e.kind !== "accepted");
    if (end?.kind === "recovered") parts.push("one resampled");
    if (end?.kind === "bonus") parts.push("one bonus");
    return `Round ${r}: ${list(parts)}`;
  },
  roundCost(round, step, estimated) {
    const n = round.drafted.length;
    const out = round.emitted.length;
    const pass = n ? `one target pass over ${n + 1} positions ${ms(round.verify_s)}` : `one target pass ${ms(round.verify_s)}`;
    const first = n ? `Draft ${n} × ${ms(round.draft_s / n)}, ${pass}.` : `${capital(pass)}.`;
    if (!step || !n) return first;
    return (
      `${first} Plain decoding ${estimated ? "would spend about" : "spent"} ${ms(step * out)} on ` +
      `${out === 1 ? "this one token" : `these ${tokens(out)}`}.`
    );
  },
  unlikely: (top) => (top ? `: drawn by chance from q, whose likeliest is ${quoted(top.text)} at ${probLong(top.q)}` : ""),
  step(s, round, total) {
    const head = `Round ${s.r} of ${total - 1}`;
    if (s.phase === "draft") {
      const d = round.drafted[s.drafted - 1];
      return (
        `${head} · the draft proposes ` +
        `${quoted(d.text)}${d.q === null || d.q === 1 ? "" : ` with q = ${probLong(d.q)}`}${EN.unlikely(likelierDraft(round, s.drafted - 1))}`
      );
    }
    if (s.phase === "verify") return `${head} · one target pass checks all ${count(round.drafted.length)} drafted tokens at once`;
    if (s.phase === "acceptance") return `${head} · ${quoted(round.drafted[s.i].text)}: ${EN.acceptance(round.drafted[s.i])}`;
    const e = round.emitted.find((x) => x.kind !== "accepted");
    if (!e) return `${head} · the round ends`;
    if (e.kind === "recovered") return `${head} · ${quoted(e.text)} is resampled in place of the rejected token`;
    if (e.kind === "bonus")
      return (
        `${head} · ${round.drafted.every((d) => d.verdict === "accepted") ? "every drafted token was accepted" : "a whole branch was accepted"}, ` +
        `${quoted(e.text)} comes as a bonus`
      );
    return `${head} · the target alone writes ${quoted(e.text)}`;
  },

  speed: {
    measured: (x) =>
      x >= 1
        ? "faster than plain decoding in this one run; both were measured, one after the other"
        : "of plain decoding's speed: slower here, in this one run; both were measured, one after the other",
    estimate: "times plain decoding's speed, by an estimate: plain decoding was not timed beside this run, its step was timed earlier",
    none: "speed-up: shown once plain decoding has a time to compare with",
    plainRun: "no draft: this is plain decoding itself",
    badge: "estimate so far",
    why: (c) => `A drafting round costs ${fixed(c.cost, 2)} plain steps and yields ${fixed(c.yield, 2)} tokens.`,
    idle: (n, all) => `${n} of ${all} rounds drafted nothing.`,
    prompt: (x, s, all) => `The prompt's pass, ${secs(s)} of ${secs(all)}, is the same for both: without it ${ratio(x)}.`,
    uneven: (quick, slow) => `The machine was busy: passes of one size took ${ms(quick)} to ${ms(slow)}. Take the ratio with care.`,
    whySlow: (c) => `Slower here, because a drafting round costs ${fixed(c.cost, 2)} plain steps and yields only ${fixed(c.yield, 2)} tokens.`,
  },
  perRound: "tokens a drafting round: the accepted ones and one from the target",
  tested: (t) => (t.tested ? `of tested tokens accepted, ${t.accepted} of ${t.tested}` : "of tested tokens accepted"),
  notTested: "drafted tokens: plain decoding has none",
  perSecond: "tokens a second, the prompt's pass included",
  versus: (x) => `vs ${x} plain`,

  bars: {
    title: (context) => ["Target p and draft q after", context],
    titleStart: "Target p and draft q for the first token", titleStartBonus: "Target p for the first token",
    titleBonus: (context) => ["Target p after", context],
    sub: "Solid: min(p, q). Hatched: q above p, drafted too often. Outlined: p above q, drafted too seldom.",
    subGreedy: "Temperature 0: all of p stands on the target's first choice, all of q on the draft's.",
    subBonus: "Nothing was drafted at this position: the token is drawn from p itself.",
    overlap: (x) => `Overlap Σ min(p, q) = ${probLong(x)}: the chance that the token drafted at this position is accepted.`,
    overlapFirst: (n, x) => `Overlap Σ min(p, q) = ${probLong(x)}: the chance that the first of the ${n} tokens drafted here is accepted.`,
    overlapAll: (n, x) => `These ${n} together have ${probLong(x)} of p: the chance that one of them is accepted.`,
    subListed: (texts) =>
      `The draft offers ${texts.map((t) => quoted(t)).join(", ")} here, one after the other and none at random: each has q = 1.`,
    overlapDice: (n, x, low) =>
      `Overlap Σ min(p, q) = ${probLong(x)}. With the same dice for both, the ${n > 1 ? "first token" : "token"} drafted here is the target's own ` +
      `with a chance between ${probLong(low)} and ${probLong(x)}.`,
    subDice: (texts) =>
      `The draft offers ${texts.map((t) => quoted(t)).join(", ")} here: the first ones of its own draw with the dice that the target has too.`,
    left: (d, listed) =>
      "u was compared with the acceptance probability after the earlier rejections, " +
      `${listed ? "the rest of p rescaled to 1" : "the rest of p over q"}: ${times(d.threshold)}.`,
    others: "all others", head: ["token", "target p over draft q", "residual"], headSingle: "target p",
    residual: "max(0, p − q), rescaled to 1: the replacement is drawn from it.",
    // Structured output: what the grammar's mask took away.
    masked({ allowed, removed, texts, p }) {
      const which = texts.map((t, i) => `${quoted(t)} ${probLong(p[i])}`).join(", ");
      return `The grammar allows ${allowed} ${allowed === 1 ? "token" : "tokens"} here and removed ${probLong(removed)} of the target's own ` +
        `distribution${which ? `: ${which}` : ""}.`;
    },
    pin: "u·q",
    drawnAmongOthers: (text) => `The token drawn, ${quoted(text)}, is one of all the others.`,
    drawn: "drawn",
    empty: "Choose a token to see both distributions at its position.",
    caption: "Probabilities of the target and of the draft at this position",
    gap: (g) => `The target's first choice leads its second by ${fixed(g, 1)} in the logits.`,
    pinNote(d) {
      const [at, p] = apart(d.u * d.q, d.p, probLong, probLong), out = d.verdict === "rejected";
      return `The pin stands at u·q = ${at}; ${out ? "beyond" : "inside"} p = ${p}, so the token is ${out ? "rejected" : "accepted"}.`;
    },
  },
  race: {
    label: (spec, plain) => `Tokens against seconds: speculative ${spec}, plain ${plain}`,
    title: "Running speed-up",
    second: "s",
    measured: "Both runs measured one after the other on the same machine.",
    estimate: "Plain decoding was not run: its line is an estimate from the calibrated step.",
    running: (n) => `Plain decoding of the same prompt is being measured now${n ? `: ${n} tokens` : ""} …`,
    alone: "Tokens against wall time.", spec: "speculative", plain: "plain", plainEstimate: "plain (estimate)", x: "seconds since start", y: "tokens",
    now: (n, t, plain) =>
      `At this step: ${n} tokens after ` +
      `${secs(t)}${plain.known ? `; plain decoding ${plain.measured ? "had" : "would have had"} ${plain.tokens}` : ""}.`,
  },
  timeline: { title: "Timeline", draft: "draft", target: "target", plain: "plain", near: "near this round", whole: "whole run",
    sub: (m) => (m ? "Measured. Plain decoding on the same clock." : "Plain lane estimated from the calibrated step, on the same clock.") },
  tree: "Draft tree: the target checks every branch in the same pass; the accepted path is solid.",
  where: (r, total) => `round ${r} of ${total - 1}`,
  lossy: "lossy: the output distribution differs from the target's",
  run(trace) {
    const r = trace.run ?? {};
    const s = r.sampling ?? {};
    const bits = [];
    if (r.target)
      bits.push(
        short(String(r.target).replaceAll(" ", "\u2009"), 60) + (r.draft ? ` with ${short(String(r.draft).replaceAll(" ", "\u2009"), 60)}` : ""),
      );
    if (r.device) bits.push(`${r.device} ${r.dtype ?? ""}`.trim());
    if (s.temperature !== undefined) bits.push(Number(s.temperature) === 0 ? "greedy" : `temperature ${upTo(Number(s.temperature), 3)}`);
    if (Number.isFinite(s.top_p) && s.top_p < 1) bits.push(`top-p ${upTo(s.top_p, 3)}`);
    if (r.seed !== undefined) bits.push(`seed ${r.seed}`);
    if (isCoupled(trace)) bits.push("the same dice for target and draft");
    if (typeof r.created === "string") bits.push(short(r.created.slice(0, 10), 12));
    if (EN.stopped[trace.totals?.stop]) bits.push(EN.stopped[trace.totals.stop]);
    if (r.lossless !== false && /\b135M\b/.test(String(r.target))) bits.push("a small target: it makes the same mistakes without a draft");
    return bits.join(" · ");
  },
  source: { recorded: "Recorded run", live: "Live run", imported: "Opened from a file", none: "Run" },
  recordings: {
    shown: "This is a recorded run: play it, or step through it.",
    none: "No recording of this example with this method: the run shown is another one. Press Run to make it.",
    live: "Press Run to decode this prompt live.",
    failed: "The recording could not be loaded.",
  },
  queue: (place, of) => `Waiting for the model: place ${place} of ${of} in the queue.`,
  waiting: "Waiting for the first token …", nothing: "No recorded run is here yet. Press Run when the live model is ready.",
  controls: {
    first: "First step (Home)",
    back: "Step back (Left)",
    play: "Play (Space)",
    pause: "Pause (Space)",
    forward: "Step forward (Right)",
    last: "Last step (End)",
    speed: "Playing speed",
    toRead: "To read along",
    recorded: "Times the recorded speed",
    pace: (n) => `${n} ${n === 1 ? "step" : "steps"}/s`,
    scrub: "Rounds: one bar a round, height is tokens emitted",
    help: "Keys (?)",
    close: "Close",
  },
  keys: [
    ["←  →", "one step back, forward"],
    ["Shift ←  →", "one round back, forward"],
    ["Space", "play, pause"],
    ["Home  End", "first, last step"],
    ["↑  ↓", "previous, next token when one has the focus"],
    ["?", "this list"],
    ["Esc", "leave the presenter's view"],
    ["Page Down  Page Up", "presenting: next, previous step (in the lesson: its pages)"],
  ],
  bar: (r, round) => `round ${r}: ${tokens(round.emitted.length)}${round.drafted.length ? `, ${round.drafted.length} drafted` : ""}`,
  stopped: { cancelled: "stopped before its end", length: "ended at the token limit", eos: "ended by itself", stop_string: "ended at a stop string" },
  secs,
};
