// Numbers printed side by side, with as many digits as it takes for the comparison or the sum to be true as it is printed.
import { fixed, precise, probLong, times, upTo, value } from "./numbers.js";

// Pure: two numbers as two texts in the same order, different where the numbers differ. [a, b] as in "u = a < p/q = b".
export function apart(a, b, textA = probLong, textB = times) {
  const one = textA(a), two = textB(b);
  const told = (x, y) => Number.isNaN(value(x) - value(y)) ? x !== y : Math.sign(value(x) - value(y)) === Math.sign(a - b);
  if (a === b || told(one, two)) return [one, two];
  for (let digits = 3; digits <= 15; digits += 1) {
    const x = precise(a, digits), y = precise(b, digits);
    if (told(x, y)) return [x, y];
  }
  return [one, two];
}

// Pure: "u = 0.31 < p/q = 0.54". The sign says whether the token was accepted, since a record rounds both numbers. Under block
// verification a token can be accepted although its own u lies above: a later one was accepted.
export function compared({ u, threshold, verdict }, name, is = " = ") {
  const [a, b] = apart(u, threshold);
  return `u${is}${a} ${verdict === "accepted" && u <= threshold ? "<" : "≥"} ${name}${is}${b}`;
}

// Pure: "a + b = total" in three decimals everywhere; a part above 0 that is too small for them is "<0.001".
export function sumText(a, b, total) {
  const unit = 1000, whole = [a, b, total].map((x) => Math.round(x * unit)), tiny = [a, b, total].map((x, k) => x > 0 && whole[k] === 0);
  const text = (x, k) => (x === 0 ? "0" : tiny[k] ? `<${fixed(1 / unit, 3)}` : fixed(x, 3));
  if (tiny.some(Boolean)) return `${text(a, 0)} + ${text(b, 1)} ≈ ${text(total, 2)}`;
  const second = whole[2] - whole[0];   // rounded on its own it could make the printed sum false
  return second <= 0 !== (b === 0)
    ? `${text(a, 0)} + ${text(b, 1)} ≈ ${text(total, 2)}`
    : `${text(a, 0)} + ${text(second / unit, 1)} = ${text(total, 2)}`;
}

// Two significant digits, for distances and their bands.
export const two = (x) => (x >= 0.0005 ? upTo(Number(x.toPrecision(2)), 6) : probLong(x));
