// The words above the player, in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
export const INTRO_EN = {
  title: "New here? What this page shows",
  text: [
    "A large model, the [[target]], writes slowly: one [[pass]] over all its weights for every [[token]]. " +
      "So something fast guesses a few tokens ahead, the [[draft]], and the target verifies them all in one pass. That is a [[round]]. " +
      "It [[accepted|accepts]] tokens up to the first [[rejected]] one, which is struck out; another token is [[resampled]] in its place.",
    "[[p]] is the chance that the target gives to a token, [[q]] the chance that the draft gave it. " +
      "A drafted token is accepted if the random number [[u]] is below p/q; its replacement is drawn from the [[residual]], max(0, p − q). " +
      "So the text follows the target's [[distribution|distribution (the chance of each token)]] exactly. " +
      "It only comes sooner or, where few tokens are accepted, later.",
    "Below is a run, round by round: play it or step through it, and choose any token. " +
      "In a token ␣ is a space, ↵ a new line, and a name such as <|im_end|> a [[special token]]. The button ? has all terms and keys.",
  ],
  lead:
    "A small model, the [[draft]], proposes a few [[token|tokens]]; the large one, the [[target]], " +
    "verifies them all in one [[pass]]. Play the run below, or choose any token.",
  drawn: "At a temperature above 0 a drafted token is drawn at random from q: now and then it is an unlikely one, not the draft's first choice.",
  more: "How it works",
  lesson: "Begin with the lesson: ten steps", own: "To the prompt and the settings",
};
