import test from "node:test";
import assert from "node:assert/strict";
import { openingPlace, openingStep } from "../../../../assets/js/lesson/places.js";
import { ANSWERED_IN, countDone, foundIn, isDone, LESSON, withDone, withoutDone } from "../../../../assets/js/lesson/steps.js";
import { buildSteps } from "../../../../assets/js/trace/steps.js";
import { LANGUAGES } from "../../../../assets/js/words/languages.js";
import { read } from "../data.mjs";

const trace = read("sampled"), { steps, ends } = buildSteps(trace.rounds);
const step = (id) => LESSON.find((s) => s.id === id);
const calm = {
  open: true,
  ready: true,
  u: 0.5,
  verdict: "accepted",
  was: "accepted",
  changedU: false,
  touched: false,
  overlap: 0.5,
  rolled: 0,
  length: { chosen: 4, load: 0, slow: false },
};
const state = (at, more = {}) => ({
  trace,
  step: steps[at],
  round: trace.rounds[steps[at].r],
  sel: null,
  settled: steps[at].phase === "settle",
  whatif: calm,
  answer: null,
  ...more,
});

test("ten steps, each with its words in every language", () => {
  assert.equal(LESSON.length, 10);
  for (const parts of Object.values(LANGUAGES))
    for (const s of LESSON) assert.deepEqual(Object.keys(parts.lesson.steps[s.id]), ["title", "text", "task", "done"]);
  for (const parts of Object.values(LANGUAGES)) assert.ok(parts.lesson.questions.every((q) => q.options.length === 3 && q.right >= 0 && q.right < 3));
});

test("a recorded run can show every step, and none is done when it opens", () => {
  for (const s of LESSON) {
    assert.ok(s.needs(trace), s.id);
    const at = openingStep(s.id, trace, steps, ends);
    assert.ok(at >= 0 && at < steps.length, s.id);
    const place = openingPlace(s.id, trace), sel = place?.i ?? null;
    if (place) assert.equal(steps[at].r, place.r, s.id);
    assert.equal(s.done(state(at, { sel })), false, `${s.id} is open`);
  }
});

test("each is done by doing it", () => {
  const verify = steps.findIndex((s) => s.phase === "verify");
  assert.ok(step("pass").done(state(verify)));
  const bonus = trace.rounds.findIndex((r) => r.emitted.at(-1).kind === "bonus");
  const refused = trace.rounds.findIndex((r) => r.emitted.at(-1).kind === "recovered");
  assert.ok(step("bonus").done(state(ends[bonus])));
  assert.ok(!step("bonus").done(state(ends[bonus] - 1)) && !step("bonus").done(state(ends[refused])));
  assert.ok(step("replaced").done(state(ends[refused], { sel: "end" })));
  assert.ok(step("replaced").done(state(ends[refused], { sel: trace.rounds[refused].drafted.findIndex((d) => d.verdict === "rejected") })));
  assert.ok(step("predict").done(state(0, { answer: "given" })) && step("quiz").done(state(0, { answer: "all" })));
  const r = trace.rounds.findIndex((x) => x.drafted.some((d) => d.verdict === "accepted" && d.p >= d.q));
  const i = trace.rounds[r].drafted.findIndex((d) => d.verdict === "accepted" && d.p >= d.q);
  assert.ok(step("certain").done(state(ends[r], { sel: i })));
  assert.ok(step("reject").done(state(0, { whatif: { ...calm, verdict: "rejected", changedU: true } })));
  assert.ok(!step("reject").done(state(0, { whatif: { ...calm, verdict: "rejected", was: "rejected", changedU: true } })));
  assert.ok(
    step("roll").done(state(0, { whatif: { ...calm, rolled: 1000 } })) &&
      step("agree").done(state(0, { whatif: { ...calm, touched: true, overlap: 0.96 } })),
  );
  assert.ok(step("length").done(state(0, { whatif: { ...calm, length: { chosen: 5, load: 0.5, slow: true } } })));
});

test("who has to search is told where: rounds in which it is done", () => {
  for (const id of ["bonus", "replaced", "certain"]) {
    const rounds = foundIn(id, trace);
    assert.ok(rounds.length > 0 && rounds.length <= 3, id);
    for (const r of rounds) {
      const round = trace.rounds[r], sel = id === "certain" ? round.drafted.findIndex((d) => d.verdict !== "not_reached" && d.p >= d.q) : "end";
      assert.ok(step(id).done(state(ends[r], { sel })), `${id} in round ${r}`);
    }
  }
  assert.deepEqual(foundIn("pass", trace), []);
  assert.deepEqual(ANSWERED_IN.map((n) => LESSON[n - 1].id), ["pass", "roll", "length", "replaced"]);
});

test("progress is ten bits", () => {
  let mask = 0;
  for (let n = 1; n <= 10; n++) { assert.equal(isDone(mask, n), false); mask = withDone(mask, n); assert.equal(countDone(mask), n); }
  assert.equal(mask, 1023);
  assert.equal(withoutDone(mask, 10), 511);
});
