// The card of a lesson's step: what it is about, what to do, whether it is done; and a bar that says so to readers who have scrolled away.
import { el, say } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { countDone, isDone, LESSON } from "./steps.js";

// One dot for each step, to go there. open(n): one was pressed.
function createDots(words, open) {
  const root = el("ol", { class: "ss-dots", "aria-label": words.title });
  function dot(step, i, n, mask) {
    const done = isDone(mask, i + 1), { title } = words.steps[step.id];
    const attrs = { "aria-current": i + 1 === n ? "step" : null, "data-done": done ? "yes" : "no", "aria-label": words.dot(i + 1, title, done) };
    const text = done ? "✓" : String(i + 1);
    return el("li", {}, el("button", { type: "button", class: "ss-dotbtn", ...attrs, title, text, onclick: () => open(i + 1) }));
  }
  const draw = (n, mask) => root.replaceChildren(...LESSON.map((step, i) => dot(step, i, n, mask)));
  return { root, draw };
}

// act: {open(n), toControl(): to the step's control, present(), own(): to a prompt of one's own}; the last two may be null. n(): the step now.
export function createCard(words, act, n) {
  const button = (name, press, cls = "") =>
    el("button", { type: "button", class: `ss-btn ss-wide ${cls}`, "data-act": name, text: words[name], onclick: press });
  const forward = () => button("next", () => act.open(n() + 1), "ss-next");
  const dots = createDots(words, act.open), where = el("p", { class: "ss-label" }), title = el("h2", { tabindex: "-1" }), text = el("div", {});
  const task = el("p", { class: "ss-task" }), question = el("div", { class: "ss-ask" }), outcome = el("p", { class: "ss-outcome", role: "status" });
  const status = el("p", { class: "ss-sub", role: "status" }), back = button("back", () => act.open(n() - 1)), next = forward();
  const there = el("button", { type: "button", class: "ss-link", "data-act": "there", text: words.there, onclick: act.toControl });
  const own = act.own && button("own", act.own, "ss-next"), present = act.present && button("present", act.present);
  const root = el("section", { class: "ss-panel ss-lessoncard" },
    el("div", { class: "ss-lessonhead" }, where, dots.root),
    title,
    text,
    task,
    question,
    outcome,
    status,
    el("div", { class: "ss-lessonnav" }, back, next, own, present, el("span", { class: "ss-note", text: words.keys })),
  );
  const barText = el("span", {}), barNext = forward(), bar = el("div", { class: "ss ss-donebar", hidden: true }, barText, barNext);
  let inSight = false, barWanted = false;

  const drawBar = () => { bar.hidden = !barWanted || inSight; };
  const watcher = new IntersectionObserver((found) => {
    inSight = found.at(-1).isIntersecting;
    drawBar();
  }, { threshold: 1 });
  watcher.observe(back);   // in the card's last row, and always there

  // The words of a step.
  function show(step) {
    const w = words.steps[step.id];
    say(title, w.title);
    text.replaceChildren(prose(words.glossary, w.text, "ss-lead"));
    task.replaceChildren(el("b", { text: `${words.task}: ` }), ...rich(words.glossary, w.task), " ", there);
    question.replaceChildren();
  }
  // How far the reader is. justDone: the step was done now, and not before. reachable: the step's control is there.
  function draw({ mask, justDone, reachable }) {
    const step = LESSON[n() - 1], { done } = words.steps[step.id], finished = isDone(mask, n()), all = countDone(mask) === LESSON.length;
    const last = n() === LESSON.length;
    dots.draw(n(), mask);
    say(where, `${words.step(n())} · ${words.progress(countDone(mask))}`);
    say(outcome, finished ? `✓ ${done}${all && (justDone || last) ? ` ${words.finished}` : ""}` : "");
    outcome.hidden = !finished;
    say(barText, finished ? `✓ ${done}` : "");
    barWanted = finished && justDone;
    drawBar();
    back.disabled = n() === 1;
    next.disabled = barNext.hidden = last;
    there.hidden = !step.control || !reachable || finished;
    next.hidden = last && all && Boolean(own);
    if (own) own.hidden = !(last && all);
    say(next, finished ? words.next : words.skip);
    root.dataset.step = step.id;
    root.dataset.done = finished ? "yes" : "no";
  }
  return { root, bar, title, question, show, draw, status: (sentence) => say(status, sentence), destroy: () => watcher.disconnect() };
}
