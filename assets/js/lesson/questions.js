// The lesson's two kinds of questions: predict whether a token is accepted, and the quiz of the last step.
import { el, say } from "../page/dom.js";
import { ANSWERED_IN } from "./steps.js";

// d: the drafted token to predict. answered(): a guess was made.
export function createPredict(words, d, answered) {
  const note = el("p", { class: "ss-note", role: "status" });
  function guessed(guess) {
    for (const b of buttons) b.disabled = true;
    say(note, `${guess === d.verdict ? words.right : words.wrong} ${words.reveal(d)}`);
    answered();
  }
  const button = (guess) =>
    el("button", { type: "button", class: "ss-btn ss-wide", "data-guess": guess, text: words[guess], onclick: () => guessed(guess) });
  const buttons = ["accepted", "rejected"].map(button);
  return el("div", {}, el("p", { class: "ss-say2", text: words.ask(d.text, d.p, d.q) }), el("div", { class: "ss-sharerow" }, ...buttons), note);
}

let groups = 0;

// Four questions with one right answer each. chosen: the chosen option of each, or null; it is the caller's list, so that an answer is still
// there when the reader comes back. answered(allRight): an option was chosen.
export function createQuiz(words, chosen, answered) {
  const allRight = () => words.questions.every((question, k) => chosen[k] === question.right);
  function fieldset(question, k) {
    const name = `ss-quiz-${(groups += 1)}`, note = el("p", { class: "ss-note", role: "status" });
    function tell() {
      const right = chosen[k] === question.right, wrong = `✗ ${words.quiz.again} ${words.quiz.where(ANSWERED_IN[k])}`;
      note.dataset.right = right ? "yes" : "no";
      say(note, chosen[k] === null ? "" : right ? `✓ ${words.quiz.right}` : wrong);
    }
    function choose(i) {
      chosen[k] = i;
      tell();
      answered(allRight());
    }
    const option = (text, i) => {
      const input = el("input", { type: "radio", name, value: i, onchange: () => choose(i) });
      input.checked = chosen[k] === i;
      return el("label", {}, input, el("i", { class: "ss-radio", "aria-hidden": "true" }), el("span", { text }));
    };
    tell();
    return el("fieldset", {}, el("legend", { text: question.ask }), ...question.options.map(option), note);
  }
  return el("div", { class: "ss-quiz" }, ...words.questions.map(fieldset));
}
