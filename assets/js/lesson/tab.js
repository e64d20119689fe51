// The tab "Lesson": a card with one thing to do, and a player to do it in. The page sees by itself when it is done.
import { el } from "../page/dom.js";
import { presenting } from "../page/present.js";
import { cleanRuns, loadRun, runText } from "../trace/runs.js";
import { mount } from "../watch/player.js";
import { createCard } from "./card.js";
import { openingPlace, openingStep, predictPlace, acceptanceStep } from "./places.js";
import { createPredict, createQuiz } from "./questions.js";
import { foundIn, isDone, LESSON, QUIZ, withDone, withoutDone } from "./steps.js";

const DEFAULTS = {
  runs: [],            // the server's list of recordings
  words: null,         // the lesson's, in one language
  playerWords: null,   // the player's, in the same language
  loadPlotly: null,
  start: 1,            // the step to open at
  done: 0,             // the steps that are done, as a mask
  answers: null,       // the chosen options of the quiz, null for none so far
  onProgress: () => {},
  present: null,       // () => begins the presenter's view
  own: null,           // () => to a prompt of one's own, offered at the end
};

// Sampled runs first, then those with most accepted tokens.
const inOrder = (runs) => [...runs].sort((a, b) => (b.temperature > 0) - (a.temperature > 0) || b.accepted - a.accepted);

// Two frames, in which the player draws. A page in the background gets no frames: then a moment.
const drawn = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 0)));
    setTimeout(resolve, 600);
  });

const clamp = (n) => Math.min(LESSON.length, Math.max(1, n));

class Lesson {
  #run = null;        // the recording that the player has
  #answer = null;     // what was answered in this step: "given" or "all"
  #began = "";        // what the player showed when the step had opened, to see whether the reader has done anything
  #opening = 0;       // the opening that is in progress, 0 for none
  #turn = 0;          // openings so far
  #justDone = false;
  #begun = false;     // a step has been opened
  #checking = false;

  constructor(root, options) {
    const o = (this.options = { ...DEFAULTS, ...options });
    this.root = root;
    this.words = o.words;
    this.n = clamp(o.start);
    this.mask = o.done;
    // The quiz counts as done only if it was answered rightly: then the right options are the chosen ones.
    this.answers = o.answers ?? o.words.questions.map((q) => (isDone(o.done, QUIZ) ? q.right : null));
    this.all = cleanRuns(o.runs);
    const act = { open: (n) => this.open(n), toControl: () => this.#toControl(), present: o.present, own: o.own };
    this.card = createCard(this.words, act, () => this.n);
    this.stage = el("div", { class: "ss-stage" });
    const { title, lead } = this.words;
    const header = el("header", { class: "ss-lessontitle" }, el("h2", { text: title }), el("p", { class: "ss-sub", text: lead }));
    const top = el("div", { class: "ss ss-lesson", lang: o.playerWords.lang }, header, this.card.root);
    root.replaceChildren(top, this.stage, this.card.bar);
    this.player = mount(this.stage, { words: o.playerWords, loadPlotly: o.loadPlotly, onState: () => this.#queueCheck(), share: false });
    document.addEventListener("keydown", this.#onKey, true);
    this.#drawCard();
  }

  // The recordings are fetched when the lesson is looked at, not before.
  seen() {
    if (this.#begun) return;
    this.#begun = true;
    this.open(this.n, false);
  }

  // Opens step n. focus: its title gets the keyboard's focus.
  async open(n, focus = true) {
    this.n = clamp(n);
    this.#answer = null;
    this.#justDone = false;
    this.#began = "";
    delete this.card.root.dataset.open;
    const mine = (this.#opening = this.#turn += 1), step = LESSON[this.n - 1];
    this.#tellProgress();
    this.card.show(step);
    this.#drawCard();
    if (focus) this.card.title.focus({ preventScroll: true });
    this.card.status(this.all.length ? this.words.loading : this.words.noRuns);
    try {
      await this.#setUp(step, () => mine === this.#opening);
    } catch {
      if (mine === this.#opening) this.card.status(this.words.failed);
    }
    await drawn();   // what the player draws of the setting up is not the reader's doing
    if (mine !== this.#opening) return;
    this.#opening = 0;
    this.#began = this.#print();
    this.card.root.dataset.open = this.n;
  }

  // The player as the step needs it. current(): whether this is still the step to open.
  async #setUp(step, current) {
    const found = await this.#suitable(step);
    if (!current()) return;
    this.card.status(found ? "" : this.all.length ? this.words.missing : this.words.noRuns);
    if (found && found !== this.#run) {
      this.#run = found;
      this.player.update(await runText(found));
    }
    if (!current()) return;
    if (step.id === "length") this.player.whatif.length.reset(1);
    this.player.whatif.root.open = Boolean(step.whatif);
    this.stage.dataset.step = step.id;
    this.stage.dataset.focus = step.whatif ? "whatif" : "round";
    this.#veil(step.id === "predict" && found && !isDone(this.mask, this.n));
    if (found) this.#place(step);
    this.#drawCard();
    if (step.id === "quiz") this.card.question.append(createQuiz(this.words, this.answers, (allRight) => this.#answered(allRight)));
    if (step.id === "predict" && found) this.#askPredict();
  }

  // The recording that is shown if it can show the step, else the first that can; null if none can.
  async #suitable(step) {
    if (this.#run && step.needs(await loadRun(this.#run))) return this.#run;
    for (const entry of inOrder(this.all)) if (step.needs(await loadRun(entry))) return entry;
    return null;
  }

  // Hides what comes later in the run, so that it does not answer the question.
  #veil(on) {
    if (on) this.stage.dataset.veil = "yes";
    else delete this.stage.dataset.veil;
  }

  #place(step) {
    const { trace, steps, ends } = this.player, at = openingPlace(step.id, trace);
    this.player.go(openingStep(step.id, trace, steps, ends, at));
    if (at) this.player.select(at.i);
    const here = steps[this.player.at].r, rounds = foundIn(step.id, trace).filter((r) => r !== here);
    this.card.status(step.id === "quiz" ? "" : `${this.words.placed(here)}${rounds.length ? ` ${this.words.foundIn(rounds)}` : ""}`);
  }

  #askPredict() {
    const place = predictPlace(this.player.trace), d = this.player.trace.rounds[place.r].drafted[place.i];
    const answered = () => {
      this.#answer = "given";
      this.#veil(false);
      this.player.go(acceptanceStep(this.player.steps, place));
      this.#check();
    };
    this.card.question.append(createPredict(this.words.predict, d, answered));
  }

  #answered(allRight) {
    this.#answer = allRight ? "all" : null;
    if (allRight) this.#check();
    else if (isDone(this.mask, QUIZ)) {
      this.mask = withoutDone(this.mask, QUIZ);
      this.#justDone = false;
      this.#tellProgress();
      this.#drawCard();
    }
  }

  // What the player shows, to compare.
  #print() {
    return JSON.stringify([this.player.at, this.player.sel, this.player.whatif.state]);
  }
  // The player tells of every drawing. It is looked at after the frame.
  #queueCheck() {
    if (this.#checking) return;
    this.#checking = true;
    setTimeout(() => {
      this.#checking = false;
      this.#check();
    }, 0);
  }
  // Is the step done? To open a step is not yet to do it.
  #check() {
    const { steps, at, trace, sel, whatif } = this.player, step = steps[at];
    if (!step || !this.root.isConnected || this.#opening) return;
    if (this.#began === "") {
      this.#began = this.#print();
      return;
    }
    if (isDone(this.mask, this.n) || (this.#answer === null && this.#print() === this.#began)) return;
    const settled = step.phase === "settle" || steps[at + 1]?.r !== step.r;
    const state = { trace, step, round: trace.rounds[step.r], sel, settled, whatif: whatif.state, answer: this.#answer };
    if (LESSON[this.n - 1].done(state)) this.#finish();
  }
  #finish() {
    this.mask = withDone(this.mask, this.n);
    this.#justDone = true;
    this.#veil(false);
    this.#tellProgress();
    // The card grows; the run must not be pushed away from under the pointer that is on it.
    const before = this.stage.getBoundingClientRect().top, held = this.stage.matches(":hover");
    this.#drawCard();
    if (held) window.scrollBy(0, this.stage.getBoundingClientRect().top - before);
  }

  #tellProgress() {
    this.options.onProgress({ lesson: this.n, done: this.mask });
  }
  #drawCard() {
    this.card.draw({ mask: this.mask, justDone: this.#justDone, reachable: Boolean(this.#run) });
  }

  // The step's control may lie far below the card: there, for eyes and keyboard.
  #toControl() {
    const node = this.stage.querySelector(LESSON[this.n - 1].control), still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
    node?.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
    node?.focus({ preventScroll: true });
  }

  // In the presenter's view PageUp and PageDown go from step to step.
  #onKey = (e) => {
    if (!["PageDown", "PageUp"].includes(e.key) || this.root.offsetParent === null || !presenting()) return;
    e.preventDefault();
    this.open(this.n + (e.key === "PageDown" ? 1 : -1));
  };

  destroy() {
    this.card.destroy();
    document.removeEventListener("keydown", this.#onKey, true);
    this.player.destroy();
    this.root.replaceChildren();
  }
}

// Puts the lesson into `root`. options: see DEFAULTS.
export const mountLesson = (root, options) => new Lesson(root, options);
