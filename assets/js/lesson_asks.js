// The lesson's two kinds of question: predict a verdict, then see; four questions with one right answer each.
import { el, say } from "./dom.js";

export function createPredict(words, d, answered) {
  const note = el("p", { class: "ss-note", role: "status" });
  const buttons = ["kept", "rejected"].map((guess) => el("button", { type: "button", class: "ss-btn ss-wide", "data-guess": guess, text: words[guess], onclick: () => {
    const right = (guess === "kept") === (d.verdict === "accepted");
    for (const b of buttons) b.disabled = true;
    say(note, `${right ? words.right : words.wrong} ${words.reveal(d)}`);
    answered(right);
  } }));
  return el("div", {}, el("p", { class: "ss-say2", text: words.ask(d.text, d.p, d.q) }), el("div", { class: "ss-sharerow" }, ...buttons), note);
}

let groups = 0;
export function createQuiz(words, all) {
  const right = words.questions.map(() => false);
  return el("div", { class: "ss-quiz" }, ...words.questions.map((q, k) => {
    const name = `ss-quiz-${(groups += 1)}`, note = el("p", { class: "ss-note", role: "status" });
    return el("fieldset", {}, el("legend", { text: q.ask }), ...q.options.map((option, i) => el("label", {}, el("input", { type: "radio", name, value: i, onchange: () => {
      right[k] = i === q.right;
      say(note, right[k] ? words.quiz.right : words.quiz.again);
      if (right.every(Boolean)) all();
    } }), el("span", { text: option }))), note);
  }));
}
