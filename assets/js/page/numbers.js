// Numbers as people read them. A probability is never printed as "0" where it is possible, nor as "1" where it is less.

// The decimal mark of the language: "." or ",". A page speaks one language at a time.
let mark = ".";
export const speak = (decimal) => { mark = decimal; };
export const decimal = () => mark;
const here = (text) => text.replace(".", mark);
export const fixed = (x, n) => here(x.toFixed(n));
export const upTo = (x, n) => here(String(Number(x.toFixed(n))));
export const precise = (x, n) => here(x.toPrecision(n));
export const value = (text) => Number(text.replace(mark, "."));   // what a printed number says; NaN where it is not a plain one
const bare = (text) => (mark === "." ? text.slice(1) : here(text));   // English leaves the zero out of ".23"

const UP = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

export function prob(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  if (x >= 1 - 1e-9) return "1";
  if (x < 0.0005) {
    const [digit, power] = x.toExponential(0).split("e-");
    return `${digit}·10⁻${Array.from(power, (c) => UP[c]).join("")}`;
  }
  if (x < 0.01) return bare(x.toFixed(3));
  if (x > 0.995) return x > 0.9999 ? `>${bare("0.9999")}` : bare(x.toFixed(4));
  return bare(x.toFixed(2));
}

// A probability in a sentence, with its leading zero.
export function probLong(x) {
  return prob(x).replace(/^([<>]?)\./, (_, sign) => `${sign}0.`);
}

export function ratio(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  return fixed(x, x >= 100 ? 0 : x >= 10 ? 1 : 2) + "×";
}

export function times(x) {   // the ratio p/q, which may be above 1
  if (x === null || x === undefined) return "–";
  return x < 1 ? probLong(x) : x >= 100 ? ">99" : fixed(x, 2);
}

const inUnits = (s, milli) => ({
  ms(seconds) {
    const x = seconds * 1000;
    return x >= 1000 ? `${fixed(x / 1000, 2)} ${s}` : `${fixed(x, x >= 10 ? 0 : x >= 1 ? 1 : 2)} ${milli}`;
  },
  secs: (x) => `${fixed(x, x >= 10 ? 1 : 2)} ${s}`,
});
const inEnglish = inUnits("s", "ms");
export const ms = inEnglish.ms;
export const secs = inEnglish.secs;
export const inRussian = inUnits("с", "мс");
// The Russian form after a whole number: 1, 21 токен; 2, 3, 4 токена; 5 to 20 токенов.
export const plural = (n, one, few, many) =>
  n % 10 === 1 && n % 100 !== 11 ? one : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 12 || n % 100 > 14) ? few : many;

export function percent(x) {
  return x === null || x === undefined ? "–" : `${Math.round(100 * x)} %`;
}

export function rate(x) {
  return x === null || x === undefined || !Number.isFinite(x) ? "–" : fixed(x, x >= 9.95 ? 0 : 1);
}

const COUNT = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
export const count = (n) => COUNT[n] ?? String(n);
export const capital = (s) => s.charAt(0).toUpperCase() + s.slice(1);
export const lower = (s) => s.charAt(0).toLowerCase() + s.slice(1);
