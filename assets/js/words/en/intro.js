// The words above the player, in English. A translation is one more file with the same keys. [[term]] opens a glossary entry.
export const INTRO_EN = {
  title: "New here? What this page shows",
  text: [
    "A large model, the [[target]], writes slowly: one [[pass]] over all its weights for every [[token]]. " +
      "So something quick guesses a few tokens ahead, the [[draft]], and the target checks them all in one pass. That is a [[round]]. " +
      "What it takes is [[accepted]]; the first guess it does not take is struck out, and another token is [[resampled]] in its place.",
    "[[p]] is the chance that the target gives to a token, [[q]] the chance that the draft gave it. " +
      "A guess is accepted if the random number [[u]] lies below p/q; a replacement comes from the [[residual]], what p has over q. " +
      "So the text follows the target's [[distribution|distribution (the chance of each token)]] exactly. " +
      "It only comes sooner or, where the guesses are poor, later.",
    "Below is a run, round by round: play it or step through it, and choose any token. " +
      "In a token ␣ is a space, ↵ a new line, and a name such as <|im_end|> a [[special token]]. The button ? has all words and keys.",
  ],
  lead:
    "A small model, the [[draft]], guesses a few [[token|tokens]] ahead; the large one, the [[target]], " +
    "checks them all in one [[pass]] and accepts what fits. Play the run below, or choose any token.",
  drawn: "At a temperature above 0 a guess is drawn by chance from q: now and then it is an unlikely token, not the one the draft likes best.",
  more: "How it works",
  lesson: "Begin with the lesson: ten steps", own: "To the prompt and the settings",
};
