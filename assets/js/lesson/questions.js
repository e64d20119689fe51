// The lesson's two kinds of question: predict a verdict, then see; four questions with one right answer each.
import { el, say } from "../page/dom.js";
import { ANSWERED_IN } from "./steps.js";

export function createPredict(words, d, answered) {
  const note = el("p", { class: "ss-note", role: "status" });
  const buttons = ["kept", "rejected"].map((guess) =>
    el("button", {
      type: "button",
      class: "ss-btn ss-wide",
      "data-guess": guess,
      text: words[guess],
      onclick: () => {
        const right = (guess === "kept") === (d.verdict === "accepted");
        for (const b of buttons) b.disabled = true;
        say(note, `${right ? words.right : words.wrong} ${words.reveal(d)}`);
        answered(right);
      },
    }),
  );
  return el("div", {}, el("p", { class: "ss-say2", text: words.ask(d.text, d.p, d.q) }), el("div", { class: "ss-sharerow" }, ...buttons), note);
}

// chosen: the option of each question, or null; kept by the caller, so that an answer is still there when one comes back.
// `answered(allRight)` is called after every choice.
let groups = 0;
export function createQuiz(words, chosen, answered) {
  return el("div", { class: "ss-quiz" }, ...words.questions.map((q, k) => {
    const name = `ss-quiz-${(groups += 1)}`, note = el("p", { class: "ss-note", role: "status" }), tell = () => {
      const right = chosen[k] === q.right;
      note.dataset.right = right ? "yes" : "no";
      say(note, chosen[k] === null ? "" : right ? `✓ ${words.quiz.right}` : `✗ ${words.quiz.again} ${words.quiz.where(ANSWERED_IN[k])}`);
    };
    const option = (text, i) => {
      const input = el("input", {
        type: "radio",
        name,
        value: i,
        onchange: () => {
          chosen[k] = i;
          tell();
          answered(words.questions.every((x, j) => chosen[j] === x.right));
        },
      });
      input.checked = chosen[k] === i;
      return el("label", {}, input, el("i", { class: "ss-radio", "aria-hidden": "true" }), el("span", { text }));
    };
    tell();
    return el("fieldset", {}, el("legend", { text: q.ask }), ...q.options.map(option), note);
  }));
}
