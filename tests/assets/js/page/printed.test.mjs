import test from "node:test";
import assert from "node:assert/strict";
import { dice } from "../../../../assets/js/distributions/acceptance.js";
import { apart, sumText, two } from "../../../../assets/js/page/printed.js";
import { LOSSLESS_EN } from "../../../../assets/js/words/en/lossless.js";
import { EN } from "../../../../assets/js/words/en/watch.js";
import { WHATIF_EN } from "../../../../assets/js/words/en/whatif.js";
import { RU } from "../../../../assets/js/words/ru/watch.js";

const value = (text) => Number(text);

test("a comparison is true as it is printed", () => {
  const roll = dice(5);
  for (let k = 0; k < 3000; k += 1) {
    const a = roll() ** 3, b = Math.min(1, Math.max(0, a + (roll() - 0.5) * 10 ** -(1 + (k % 6))));
    const [x, y] = apart(a, b).map(value);
    if (a < b && Number.isFinite(x) && Number.isFinite(y)) assert.ok(x < y, `${a} < ${b} printed as ${x} < ${y}`);
  }
  assert.deepEqual(apart(0.0058, 0.0062), ["0.00580", "0.00620"]);
  assert.deepEqual(apart(0.31, 0.54), ["0.31", "0.54"]);
});

test("a sum is true as it is printed, whatever its parts", () => {
  const roll = dice(6);
  for (let k = 0; k < 3000; k += 1) {
    const a = roll() ** (1 + (k % 5)), b = roll() ** (1 + (k % 4)) * (1 - Math.min(1, a)), text = sumText(a, b, a + b);
    const [x, y, z] = text.match(/[\d.]+/g).map(value);
    assert.ok(text.includes("≈") || Math.abs(x + y - z) < 1e-9, text);
    assert.ok(Math.abs(x - a) < 0.00101 && Math.abs(y - b) < 0.0016, text);
    assert.match(text, /^(0|<?[01]\.\d{3}) \+ (0|<?[01]\.\d{3}) [=≈] (0|<?[01]\.\d{3})$/);
  }
  assert.deepEqual([[0.17, 0.38, 0.55], [0.25, 0, 0.25], [0.00008, 0.25157, 0.25165], [0, 0.00002, 0.00002], [0, 0, 0]].map((x) => sumText(...x)),
    ["0.170 + 0.380 = 0.550", "0.250 + 0 = 0.250", "<0.001 + 0.252 ≈ 0.252", "0 + <0.001 ≈ <0.001", "0 + 0 = 0"]);
  for (const words of [LOSSLESS_EN, WHATIF_EN.pair]) assert.equal(words.identity(0.034, 0.0063, 0.0403), "0.034 + 0.006 = 0.040");
});

test("the sentences use it", () => {
  const d = { text: " a", p: 0.00581, q: 0.9, u: 0.0062, threshold: 0.00646, verdict: "accepted" };
  for (const w of [EN, RU]) {
    const [, u, t] = /u = ([\d.]+) < p\/q = ([\d.]+)/.exec(w.acceptance(d));
    assert.ok(value(u) < value(t), w.acceptance(d));
    const [, ku, kt] = /u ([\d.]+) < p\/q ([\d.]+)/.exec(w.cardAcceptance(d, "accepted")[1]);
    assert.ok(value(ku) < value(kt));
    const [, at, p] = /u·q = ([\d.]+);.*p = ([\d.]+),/.exec(w.bars.pinNote(d));
    assert.ok(value(at) < value(p), w.bars.pinNote(d));
  }
});

test("two digits, also of what is small", () => assert.deepEqual([0.0312, 0.00094, 0.5].map(two), ["0.031", "0.00094", "0.5"]));
