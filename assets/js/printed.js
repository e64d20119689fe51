// Numbers printed side by side: with as many digits as it takes for what is printed to be true.
import { fixed, precise, probLong, times, upTo, value } from "./numbers.js";

// Pure: two different numbers as two different texts, whose order the eye can see. [a, b] as in "u = a < p/q = b".
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

// Pure: "u = 0.31 < p/q = 0.54", the sign as the verdict has it (a record rounds both numbers; a block keeps a draft for a later one's sake).
export function compared({ u, threshold, verdict }, name, is = " = ") {
  const [a, b] = apart(u, threshold);
  return `u${is}${a} ${verdict === "accepted" && u <= threshold ? "<" : "≥"} ${name}${is}${b}`;
}

// Pure: a + b = total. Two decimals, more where small parts or the rounding need them; a part too small even then is written as what it is.
export function sumText(a, b, total) {
  const tiny = (x) => x > 0 && x < 5e-6;
  if (tiny(a) || tiny(b)) return `${probLong(a)} + ${probLong(b)} ≈ ${probLong(total)}`;
  const small = Math.min(...[a, b, total].filter((x) => x > 0), 1), least = small < 5e-4 ? 5 : small < 0.0095 ? 3 : 2;
  for (let d = least; d <= 6; d += 1) {
    const unit = 10 ** d, whole = [a, b, total].map((x) => Math.round(x * unit));
    if (whole[0] + whole[1] === whole[2]) return `${fixed(a, d)} + ${fixed(b, d)} = ${fixed(total, d)}`;
  }
  // No number of digits does it: the second part is what the first leaves.
  const unit = 10 ** least, [x, y] = [a, total].map((v) => Math.round(v * unit));
  return `${fixed(x / unit, least)} + ${fixed((y - x) / unit, least)} = ${fixed(y / unit, least)}`;
}

// Two digits, also of what is small: distances and their bands.
export const two = (x) => (x >= 0.0005 ? upTo(Number(x.toPrecision(2)), 6) : probLong(x));
