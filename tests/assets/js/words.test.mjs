import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { makeReader } from "../../../assets/js/trace/trace.js";
import { EN } from "../../../assets/js/words/en/watch.js";
import { ms, prob, probLong, ratio, times } from "../../../assets/js/page/numbers.js";
import { pieces, short, tail, visible } from "../../../assets/js/page/glyphs.js";
import { barRows, pinAt } from "../../../assets/js/distributions/rows.js";
import { headline } from "../../../assets/js/watch/stats.js";
import { stack } from "../../../assets/js/watch/scrub.js";

const data = JSON.parse(readFileSync(process.env.SPECSCOPE_JS_DATA, "utf8")).traces;
const sampled = makeReader().read(data.sampled.ndjson).trace;
const d = (x) => ({ text: " a", p: 0.2, q: 0.37, u: 0.31, threshold: 0.5405, verdict: "accepted", ...x });

test("verdict sentences", () => {
  assert.equal(EN.verdict(d()), "u = 0.31 < p/q = 0.54: accepted");
  assert.equal(EN.verdict(d({ u: 0.64, verdict: "rejected" })), "u = 0.64 ≥ p/q = 0.54: rejected");
  assert.equal(EN.verdict(d({ p: 0.5, threshold: 1.35 })), "p ≥ q: accepted whatever u is");
  assert.equal(EN.verdict(d({ u: null })), "the target's first choice is the same: accepted");
  assert.equal(EN.verdict(d({ u: null, verdict: "rejected" })), "the target's first choice is another: rejected");
  assert.match(EN.verdict(d({ verdict: "not_reached" })), /never tested/);
  assert.match(EN.verdict(d(), false), /the acceptance probability = 0.54/);
});

test("numbers keep their sense at both ends", () => {
  assert.deepEqual([0, 0.5, 1, 0.123, 0.004, 0.997, 3e-6, null].map(prob), ["0", ".50", "1", ".12", ".004", ".9970", "3·10⁻⁶", "–"]);
  assert.equal(probLong(0.3), "0.30");
  assert.equal(probLong(1 - 1e-5), ">0.9999");
  assert.deepEqual([1.6249, 12.34, null, NaN].map(ratio), ["1.62×", "12.3×", "–", "–"]);
  assert.deepEqual([0.0019, 0.029, 1.5].map(ms), ["1.9 ms", "29 ms", "1.50 s"]);
  assert.equal(times(2.345), "2.35");
});

test("invisible characters become visible, text stays text", () => {
  assert.equal(visible(" a\n\t"), "␣a↵⇥");
  assert.equal(visible("\u202eabc\u0007\u200b"), "<U+202E>abc␇<U+200B>");
  assert.equal(visible(""), "∅");
  assert.equal(visible("👩\u200d👩"), "👩\u200d👩");
  assert.equal(visible("</s>${x}{{x}}\\"), "</s>${x}{{x}}\\");
  assert.equal(Array.from(short("x".repeat(10000), 18)).length, 18);
  assert.equal(short("😀".repeat(30), 5), "😀😀😀😀…");
  assert.deepEqual(pieces("  word\n\n"), { lead: "  ", body: "word↵↵", breaks: "\n\n" });
  assert.deepEqual(pieces("  "), { lead: " ", body: "␣", breaks: "" });
  assert.ok(tail("a ".repeat(100)).startsWith("… "));
});

test("bars: every row splits, the whole sums to 1, the rest carries its own overlap", () => {
  for (const round of sampled.rounds) for (const table of round.tables) {
    const m = barRows(table, { drafted: table.ids[0] });
    const sum = (k) => m.rows.reduce((s, r) => s + (r[k] ?? 0), 0);
    assert.ok(Math.abs(sum("p") - 1) < 1e-4, `p sums to ${sum("p")}`);
    if (!m.hasQ) continue;
    assert.ok(Math.abs(sum("q") - 1) < 1e-4);
    assert.ok(Math.abs(sum("agreed") - table.overlap) < 1e-4, "agreed parts add up to the overlap");
    for (const r of m.rows) assert.ok(Math.abs(r.agreed + r.owed - r.p) < 1e-9 && Math.abs(r.agreed + r.eager - r.q) < 1e-9);
    if (m.hasResidual) assert.ok(Math.abs(sum("residual") - 1) < 1e-4);
  }
});

test("the drafted and the drawn token are always listed", () => {
  const n = 30;
  const table = {
    after: -1,
    ids: [...Array(n).keys()],
    texts: Array(n).fill("t"),
    p: Array(n).fill(0.03),
    q: Array(n).fill(0.03),
    residual: null,
    overlap: 0.9,
    others: { p: 0.1, q: 0.1, overlap: 0.05 },
  };
  const m = barRows(table, { drafted: 29, drawn: 28, limit: 5 });
  assert.ok(m.rows.some((r) => r.isDrafted) && m.rows.some((r) => r.isDrawn));
  assert.equal(m.rows.length, 6);
  assert.ok(Math.abs(m.rows.at(-1).agreed - (0.05 + 25 * 0.03)) < 1e-9);
});

test("the pin is drawn only where u·q tells the verdict", () => {
  assert.ok(Math.abs(pinAt(d()) - 0.31 * 0.37) < 1e-9);
  assert.equal(pinAt(d({ threshold: 0.9 })), null);
  assert.equal(pinAt(d({ u: null })), null);
  assert.equal(pinAt(d({ verdict: "not_reached" })), null);
  assert.ok(pinAt(d({ p: 0.5, threshold: 1 })) > 0 && pinAt(d({ p: 0.5, threshold: 1.351 })) > 0, "capped or not");
  for (const round of sampled.rounds) for (const x of round.drafted) {
    const pin = pinAt(x);
    if (pin !== null) assert.equal(pin < x.p, x.verdict === "accepted", "left of p's end means kept");
  }
});

test("the headline names what it divides by, and says when it is slower", () => {
  const h = headline(sampled, EN);
  assert.match(h.label, /faster than plain decoding in this one run; both were measured/);
  assert.equal(h.estimate, false);
  const slow = headline({ ...sampled, plain: { elapsed_s: sampled.plain.elapsed_s.map((x) => x / 4) } }, EN);
  assert.equal(slow.slow, true);
  assert.match(slow.label, /slower here/);
  assert.match(slow.why, /^Slower here, because/);
  const guess = headline({ ...sampled, plain: null, run: { ...sampled.run, costs: { plain_step_s: 0.001 } } }, EN);
  assert.deepEqual([guess.estimate, guess.slow, guess.why], [true, false, ""], "no verdict before plain decoding has been timed");
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

test("scrub bars stack by origin", () => assert.match(stack(["accepted", "recovered"]), /acc\) 0.00% 50.00%.*res\) 50.00% 100.00%/));
