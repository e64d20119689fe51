import test from "node:test";
import assert from "node:assert/strict";
import { headline, soFar } from "../../../../assets/js/watch/stats.js";
import { EN } from "../../../../assets/js/words/en/watch.js";
import { read } from "../data.mjs";

const sampled = read("sampled");

test("the headline names what it divides by, and says when it is slower", () => {
  const h = headline(sampled, EN);
  assert.match(h.label, /faster than plain decoding in this one run; both were measured/);
  assert.equal(h.estimate, false);
  const slow = headline({ ...sampled, plain: { elapsed_s: sampled.plain.elapsed_s.map((x) => x / 4) } }, EN);
  assert.equal(slow.slow, true);
  assert.match(slow.label, /slower here/);
  assert.match(slow.why, /^Slower here, because/);
  const guess = headline({ ...sampled, plain: null, run: { ...sampled.run, costs: { plain_step_s: 0.001 } } }, EN);
  assert.deepEqual([guess.estimate, guess.slow, guess.why], [true, false, ""], "no speed-up told before plain decoding has been timed");
  assert.match(guess.label, /by an estimate/);
  assert.equal(headline({ ...sampled, rounds: sampled.rounds.map((r) => ({ ...r, drafted: [] })) }, EN).label, EN.speed.plainRun);
  assert.equal(headline({ ...sampled, rounds: [] }, EN).big, "–");
});

test("the headline says what else there is: rounds without a draft, the prompt's pass, a busy machine", () => {
  const shifted = (dt) => ({
    ...sampled,
    plain: { elapsed_s: sampled.plain.elapsed_s.map((x) => x + dt) },
    rounds: sampled.rounds.map((r) => ({ ...r, elapsed_s: r.elapsed_s + dt })),
  });
  assert.match(headline(shifted(5), EN).why, /The prompt's pass, 5\.\d\d s of \d+\.\d+ s, is the same for both: without it \d\.\d\d×\./);
  const h = headline(sampled, EN), rate = (text) => Number(/[\d.]+/.exec(text)[0]);
  assert.ok(Math.abs(rate(h.perSecond) / rate(h.versus) - rate(h.big)) < 0.1, "one definition of tokens a second");
  const drafting = sampled.rounds.filter((r) => r.drafted.length).length;
  const idle = { ...sampled, rounds: sampled.rounds.map((r, i) => (i === 3 ? { ...r, drafted: [] } : r)) };
  assert.match(headline(idle, EN).why, new RegExp(`${sampled.rounds.length - drafting} of ${sampled.rounds.length - 1} rounds drafted nothing`));
  const busy = { ...sampled, rounds: sampled.rounds.map((r, i) => ({ ...r, verify_s: i % 3 ? 0.02 : 0.06 })) };
  assert.match(headline(busy, EN).why, /passes of one size took 20 ms to 60 ms\. Take the ratio with care\.$/);
  assert.doesNotMatch(headline({ ...sampled, rounds: sampled.rounds.map((r) => ({ ...r, verify_s: 0.02 })) }, EN).why, /busy/);
});

test("the numbers up to a step are those of the rounds so far; at the end there is nothing beside the whole", () => {
  assert.equal(soFar(sampled, { r: sampled.rounds.length - 1 }, true), null);
  const half = soFar(sampled, { r: 8 }, true), fewer = soFar(sampled, { r: 8 }, false);
  assert.ok(half.perRound > 0 && half.ratio > 0 && half.tested <= 1);
  assert.notDeepEqual(half, fewer);
});
