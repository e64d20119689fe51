// The lesson: a card with one thing to do, and a player in which to do it. The page sees by itself when it is done.
import { el, say } from "../page/dom.js";
import { prose, rich } from "../page/glossary.js";
import { countDone, foundIn, isDone, LESSON, openingPlace, openingStep, predictPlace, QUIZ, verdictStep, withDone, withoutDone } from "./steps.js";
import { createQuiz, createPredict } from "./questions.js";
import { mount } from "../watch/player.js";
import { cleanRuns, loadRun, runText } from "../trace/runs.js";

export function mountLesson(
  root,
  { runs = [], words, playerWords, loadPlotly = null, start = 1, done = 0, answers = null, onProgress = () => {}, present = null, own = null },
) {
  const all = cleanRuns(runs),
    order = [...all].sort((a, b) => (b.temperature > 0) - (a.temperature > 0) || b.accepted - a.accepted);
  let n = Math.min(LESSON.length, Math.max(1, start)),
    mask = done,
    run = null,
    answer = null,
    began = "",
    opening = 0,
    turn = 0,
    justDone = false,
    cardSeen = false;
  // What was chosen in the quiz. A quiz that the address calls done was answered rightly: nothing else is called done.
  const chosen = answers ?? words.questions.map((q) => (isDone(done, QUIZ) ? q.right : null));
  const dots = el("ol", { class: "ss-dots", "aria-label": words.title }),
    where = el("p", { class: "ss-label" }),
    title = el("h2", { tabindex: "-1" }),
    text = el("div", {}),
    task = el("p", { class: "ss-task" }),
    ask = el("div", { class: "ss-ask" }),
    outcome = el("p", { class: "ss-outcome", role: "status" }),
    status = el("p", { class: "ss-sub", role: "status" });
  const button = (name, act, more = "") =>
    el("button", { type: "button", class: `ss-btn ss-wide ${more}`, "data-act": name, text: words[name], onclick: act });
  const back = button("back", () => open(n - 1)),
    next = button("next", () => open(n + 1), "ss-next");
  const there = el("button", { type: "button", class: "ss-link", "data-act": "there", text: words.there, onclick: toControl }),
    watch = own && button("own", own, "ss-next");
  const bar = el("div", { class: "ss ss-donebar", hidden: true }),
    barText = el("span", {}),
    barNext = button("next", () => open(n + 1), "ss-next");
  bar.append(barText, barNext);
  const stage = el("div", { class: "ss-stage" }),
    card = el("section", { class: "ss-panel ss-lessoncard" },
      el("div", { class: "ss-lessonhead" }, where, dots),
      title,
      text,
      task,
      ask,
      outcome,
      status,
      el("div", { class: "ss-lessonnav" },
        back,
        next,
        watch,
        present && button("present", present),
        el("span", { class: "ss-note", text: words.keys }),
      ),
    );
  root.replaceChildren(
    el("div", { class: "ss ss-lesson", lang: playerWords.lang },
      el("header", { class: "ss-lessontitle" }, el("h2", { text: words.title }), el("p", { class: "ss-sub", text: words.lead })),
      card,
    ),
    stage,
    bar,
  );
  const player = mount(stage, { words: playerWords, loadPlotly, onState: queueCheck, share: false });

  const print = () => JSON.stringify([player.at, player.sel, player.whatif.state]);
  let queued = false;
  // Looked at after the frame: drawing tells of itself, and opening a step is not yet doing it.
  function queueCheck() {
    if (!queued) {
      queued = true;
      setTimeout(() => {
        queued = false;
        check();
      }, 0);
    }
  }
  function check() {
    const step = player.steps[player.at];
    if (!step || !root.isConnected || opening) return;
    if (began === "") {
      began = print();
      return;
    }
    if (answer === null && print() === began) return;
    const round = player.trace.rounds[step.r],
      last = player.steps[player.at + 1]?.r !== step.r;
    if (
      !isDone(mask, n) &&
      LESSON[n - 1].done({
        trace: player.trace,
        step,
        round,
        sel: player.sel,
        settled: step.phase === "settle" || last,
        whatif: player.whatif.state,
        answer,
      })
    )
      finish();
  }
  function finish() {
    mask = withDone(mask, n);
    justDone = true;
    delete stage.dataset.veil;
    onProgress({ lesson: n, done: mask });
    // What the card grows by must not push the run away from under the hand that is on it.
    const before = stage.getBoundingClientRect().top,
      held = stage.matches(":hover");
    drawCard();
    if (held) window.scrollBy(0, stage.getBoundingClientRect().top - before);
  }
  // The step's control may lie far below what asks for it: go there, for eyes and keyboard.
  function toControl() {
    const node = stage.querySelector(LESSON[n - 1].control),
      still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
    node?.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
    node?.focus({ preventScroll: true });
  }
  function answered(allRight) {
    answer = allRight ? "all" : null;
    if (allRight) check();
    else if (isDone(mask, QUIZ)) {
      mask = withoutDone(mask, QUIZ);
      justDone = false;
      onProgress({ lesson: n, done: mask });
      drawCard();
    }
  }

  function drawDots() {
    dots.replaceChildren(
      ...LESSON.map((step, i) =>
        el("li", {},
          el("button", {
            type: "button",
            class: "ss-dotbtn",
            "aria-current": i + 1 === n ? "step" : null,
            "data-done": isDone(mask, i + 1) ? "yes" : "no",
            "aria-label": words.dot(i + 1, words.steps[step.id].title, isDone(mask, i + 1)),
            title: words.steps[step.id].title,
            onclick: () => open(i + 1),
            text: isDone(mask, i + 1) ? "✓" : String(i + 1),
          }),
        ),
      ),
    );
  }
  // The bar says what the card says, for whoever has scrolled away from it.
  const drawBar = () => {
    bar.hidden = !isDone(mask, n) || !justDone || cardSeen;
  };
  const watcher = new IntersectionObserver(
    (found) => {
      cardSeen = found.at(-1).isIntersecting;
      drawBar();
    },
    { threshold: 1 },
  );
  watcher.observe(back); // the card's last row: `back` is always drawn
  function drawCard() {
    const w = words.steps[LESSON[n - 1].id],
      finished = isDone(mask, n);
    drawDots();
    say(where, `${words.step(n)} · ${words.progress(countDone(mask))}`);
    say(outcome, finished ? `✓ ${w.done}${countDone(mask) === LESSON.length && (justDone || n === LESSON.length) ? ` ${words.finished}` : ""}` : "");
    outcome.hidden = !finished;
    say(barText, finished ? `✓ ${w.done}` : "");
    drawBar();
    barNext.hidden = n === LESSON.length;
    back.disabled = n === 1;
    next.disabled = n === LESSON.length;
    there.hidden = !LESSON[n - 1].control || !run || finished;
    const over = n === LESSON.length && countDone(mask) === LESSON.length;
    next.hidden = over && Boolean(watch);
    if (watch) watch.hidden = !over;
    say(next, finished ? words.next : words.skip);
    card.dataset.step = LESSON[n - 1].id;
    card.dataset.done = finished ? "yes" : "no";
  }

  async function open(to, focus = true) {
    n = Math.min(LESSON.length, Math.max(1, to));
    answer = null;
    justDone = false;
    began = "";
    delete card.dataset.open;
    const mine = (opening = turn += 1),
      step = LESSON[n - 1],
      w = words.steps[step.id];
    onProgress({ lesson: n, done: mask });
    say(title, w.title);
    text.replaceChildren(prose(words.glossary, w.text, "ss-lead"));
    task.replaceChildren(el("b", { text: `${words.task}: ` }), ...rich(words.glossary, w.task), " ", there);
    ask.replaceChildren();
    drawCard();
    if (focus) title.focus({ preventScroll: true });
    say(status, all.length ? words.loading : words.noRuns);
    try {
      const found = await suitable(step);
      if (mine !== opening) return;
      say(status, found ? "" : all.length ? words.missing : words.noRuns);
      if (found && found !== run) {
        run = found;
        player.update(await runText(found));
      }
      if (mine !== opening) return;
      if (step.id === "length") player.whatif.length.reset(1);
      player.whatif.root.open = Boolean(step.whatif);
      stage.dataset.step = step.id;
      stage.dataset.focus = step.whatif ? "whatif" : "round";
      // The future must not answer what is asked.
      if (step.id === "predict" && found && !isDone(mask, n)) stage.dataset.veil = "yes";
      else delete stage.dataset.veil;
      if (found) place(step);
      drawCard();
      if (step.id === "quiz") ask.append(createQuiz(words, chosen, answered));
      if (step.id === "predict" && found) askPredict();
    } catch {
      if (mine === opening) say(status, words.failed);
    }
    // The two frames in which the player draws what was set up belong to the opening. A page in the background gets no frames: then a moment.
    await new Promise((drawn) => {
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 0)));
      setTimeout(drawn, 600);
    });
    if (mine === opening) {
      opening = 0;
      began = print();
      card.dataset.open = n;
    }
  }
  function place(step) {
    const { trace, steps } = player,
      ends = steps.flatMap((s, k) => (steps[k + 1]?.r !== s.r ? [k] : []));
    const at = openingPlace(step.id, trace);
    player.go(openingStep(step.id, trace, steps, ends, at));
    if (at) player.select(at.i);
    const rounds = foundIn(step.id, trace).filter((r) => r !== steps[player.at].r);
    say(status, step.id === "quiz" ? "" : `${words.placed(steps[player.at].r)}${rounds.length ? ` ${words.foundIn(rounds)}` : ""}`);
  }
  function askPredict() {
    const at = predictPlace(player.trace),
      d = player.trace.rounds[at.r].drafted[at.i];
    ask.append(
      createPredict(words.predict, d, () => {
        answer = "given";
        delete stage.dataset.veil;
        player.go(verdictStep(player.steps, at));
        check();
      }),
    );
  }
  async function suitable(step) {
    if (run && step.needs(await loadRun(run))) return run;
    for (const entry of order) if (step.needs(await loadRun(entry))) return entry;
    return null;
  }

  function onKey(e) {
    if (!["PageDown", "PageUp"].includes(e.key) || root.offsetParent === null || !document.documentElement.classList.contains("ss-present")) return;
    e.preventDefault();
    open(n + (e.key === "PageDown" ? 1 : -1));
  }
  document.addEventListener("keydown", onKey, true);
  let begun = false;
  // The recordings are fetched when the lesson is looked at, not before.
  function seen() {
    if (!begun) {
      begun = true;
      open(n, false);
    }
  }
  drawCard();
  return {
    seen,
    open,
    player,
    get n() {
      return n;
    },
    get mask() {
      return mask;
    },
    get answers() {
      return chosen;
    },
    destroy() {
      watcher.disconnect();
      document.removeEventListener("keydown", onKey, true);
      player.destroy();
      root.replaceChildren();
    },
  };
}
