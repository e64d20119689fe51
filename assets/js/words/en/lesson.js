// The lesson in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
import { probLong } from "../../page/numbers.js";
import { quoted } from "../../page/glyphs.js";
import { apart } from "../../page/printed.js";
import { GLOSSARY_EN } from "./glossary.js";

export const LESSON_EN = {
  glossary: GLOSSARY_EN,
  title: "Speculative decoding in ten steps",
  lead:
    "Each step has something to do in the recorded run below, and the page sees when it is done. " +
    "Your progress is in the address: copy it to go on later.",
  step: (n) => `Step ${n} of 10`, dot: (n, title, done) => `Step ${n}: ${title}${done ? ", done" : ""}`, progress: (n) => `${n} of 10 done`,
  task: "To do", back: "Back", next: "Next step", skip: "Skip", start: "From the start", present: "Present",
  keys: "Arrow keys step through the run. In the presenter's view Page Down and Page Up turn the lesson's pages.",
  placed: (r) => `For this step the run below has been set to round ${r}.`,
  loading: "Loading the recording …",
  missing: "No recording here shows this; go on with the next step.",
  failed: "The recording could not be loaded.",
  noRuns: "There are no recorded runs on this server, so the lesson has nothing to show.",
  finished: "All ten are done. You can now say why it is faster, why nothing is lost, and when it does not pay.",
  predict: {
    ask: (text, p, q) => `Will ${quoted(text)} be accepted? The draft gave it q = ${probLong(q)}, the target gives it p = ${probLong(p)}.`,
    accepted: "It is accepted",
    rejected: "It is rejected",
    right: "You were right.",
    wrong: "It went the other way.",
    reveal: (d) =>
      `u was ${apart(d.u, Math.min(1, d.p / d.q))[0]}, and p/q = ${apart(d.u, Math.min(1, d.p / d.q))[1]}: ` +
      `${d.u < d.p / d.q ? "below it, accepted" : "not below it, rejected"}. With p/q you know the odds, never the outcome.`,
  },
  there: "Take me there",
  own: "Now with a prompt of your own",
  foundIn: (rounds) => `You find it, for example, in ${rounds.length === 1 ? "round" : "rounds"} ${rounds.join(", ")}.`,
  quiz: { where: (n) => `It is in step ${n}.`, again: "Not quite: read it once more and choose again.", right: "Right." },
  steps: {
    pass: {
      title: "Draft ahead, verify at once",
      text:
        "Something small and fast makes the [[draft]]: it guesses a few tokens ahead. " +
        "Then the [[target]] looks at all of them in a single [[pass]]. One pass for each token would be [[plain decoding]].",
      task:
        "Step forward (the button to the right of Play, or the → key if you have keys) " +
        "until the target's one pass lights up all drafted tokens.",
      done: "That one pass took hardly longer than a pass for one token. This is where time is saved.",
    },
    predict: {
      title: "Will it be accepted?",
      text:
        "The pass has computed [[p]], the chance that the target gives to each drafted token; [[q]] is the chance that the draft gave it. " +
        "A uniform random number [[u]] between 0 and 1 decides: the token is accepted if u is below p/q, " +
        "so its [[acceptance probability]] is min(1, p/q).",
      task: "Predict, then see.",
      done: "With p as large as q a token is always accepted; with p half of q it is accepted half of the time.",
    },
    bonus: {
      title: "The whole draft is accepted",
      text:
        "If every drafted token is accepted, the pass has also computed the target's " +
        "[[distribution|distribution (the chance of each token)]] for the token after them. " +
        "That token is drawn at no cost: the [[bonus]].",
      task: "Find a round that ended with a bonus. The bars under the text are rounds; green at the top is a bonus.",
      done: "So a round of k drafted tokens can yield k + 1 tokens for one pass.",
    },
    replaced: {
      title: "A rejection ends the round",
      text:
        "All tokens after a [[rejected]] one were drafted as its continuation; they are dropped, [[not reached|never tested]]. " +
        "In place of the rejected token another is [[resampled]], drawn from the [[residual]]: max(0, p − q), rescaled to sum to 1.",
      task: "Find a round with a rejection and choose the rejected token or the one that replaced it.",
      done: "Even such a round yields one token of the target's: never fewer tokens than plain decoding.",
    },
    certain: {
      title: "When u does not matter",
      text:
        "Where p ≥ q the ratio p/q is at least 1, and no [[u]] is above it. " +
        "The token was drafted less often than the target would write it; the [[residual]] holds the difference.",
      task: "Find a tested token with p ≥ q and choose it.",
      done: "The draft gave this token too little, p − q. After a rejection the residual makes up for it.",
    },
    reject: {
      title: "Another random number",
      text: "Here is a token that was accepted although p < q. Under “What if”, u is a slider, and the coloured part reaches to p/q.",
      task: "Drag u until this token is rejected.",
      done: "The same models with another u decide otherwise. Exact is the chance of each text, not the single text.",
    },
    roll: {
      title: "Nothing is lost",
      text:
        "Accepted tokens give min(p, q) of each token. The [[residual]] gives exactly the rest. " +
        "Together they are p.",
      task:
        "Under “What if”, draw 1,000 times at this position and compare the bars with the marks of p. " +
        "The whiskers show where 95 % of the counts fall if tokens are drawn from p itself.",
      done:
        "Whatever q is, the bars differ from p by chance alone, and the more draws, the less. " +
        "This is why the output has exactly the target's distribution.",
    },
    agree: {
      title: "A better draft",
      text: "The chance that a drafted token is accepted is the [[overlap]], Σ min(p, q). A better draft has a q closer to p.",
      task:
        "Under “What if”, pull the bars of q to where p ends until the overlap is at least 0.95. " +
        "Begin with the bar that is furthest off; each pull rescales the others.",
      done: "The quality of the draft changes the speed and nothing else.",
    },
    length: {
      title: "When it no longer pays",
      text:
        "A pass over a few tokens costs little more than a pass over one: most of it is spent once for all of them, " +
        "above all on reading the weights. That ends when the arithmetic for the tokens takes longer than the reading: " +
        "with a long draft, or where a server writes for many people in the same pass. " +
        "Then each further drafted token costs time, but is accepted more and more seldom: all tokens before it must be accepted too.",
      task:
        "Under “What if”, make it slower than plain decoding: a longer draft, a pass filled by other requests, or both, " +
        "until the bar you have chosen is red.",
      done: "A round now costs more plain steps than it yields tokens. So does a poor or a slow draft. Then draft less, or not at all.",
    },
    quiz: { title: "Say it yourself", text: "Four questions, from this page alone.", task: "Answer all four.", done: "That is all there is to it." },
  },
  questions: [
    {
      ask: "Why is it faster?",
      options: [
        "One target pass over several tokens costs about as much as over one.",
        "The small model writes the text and the large one is not needed.",
        "Less likely tokens are skipped.",
      ],
      right: 0,
    },
    {
      ask: "Why is the distribution of the output (the chance of each token) unchanged?",
      options: [
        "Because a token is accepted only where both models have the same first choice.",
        "Accepted tokens give min(p, q), the residual gives the rest of p: together p.",
        "It is changed a little, but nobody notices.",
      ],
      right: 1,
    },
    {
      ask: "When does it not pay?",
      options: ["When the text is long.", "When the temperature is 0.", "When too few tokens are accepted, or drafting and verifying cost too much."],
      right: 2,
    },
    {
      ask: "What is the residual?",
      options: [
        "max(0, p − q), rescaled to 1; after a rejection a token is drawn from it.",
        "The tokens that were never tested.",
        "The time left at the end of a round.",
      ],
      right: 0,
    },
  ],
};
