import test from "node:test";
import assert from "node:assert/strict";
import { ms, plural, prob, probLong, ratio, times } from "../../../../assets/js/page/numbers.js";

test("numbers keep their sense at both ends", () => {
  assert.deepEqual([0, 0.5, 1, 0.123, 0.004, 0.997, 3e-6, null].map(prob), ["0", ".50", "1", ".12", ".004", ".9970", "3·10⁻⁶", "–"]);
  assert.equal(probLong(0.3), "0.30");
  assert.equal(probLong(1 - 1e-5), ">0.9999");
  assert.deepEqual([1.6249, 12.34, null, NaN].map(ratio), ["1.62×", "12.3×", "–", "–"]);
  assert.deepEqual([0.0019, 0.029, 1.5].map(ms), ["1.9 ms", "29 ms", "1.50 s"]);
  assert.equal(times(2.345), "2.35");
});

test("Russian counts in its own forms", () => {
  const form = (n) => plural(n, "токен", "токена", "токенов");
  assert.deepEqual([1, 21, 101].map(form), Array(3).fill("токен"));
  assert.deepEqual([2, 4, 23].map(form), Array(3).fill("токена"));
  assert.deepEqual([0, 5, 11, 12, 14, 20, 111, 112].map(form), Array(8).fill("токенов"));
});
