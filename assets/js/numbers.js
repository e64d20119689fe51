// Numbers as people read them. Probabilities keep their sense at both ends: never "0" for something possible, never "1" for less.

const UP = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

export function prob(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  if (x >= 1 - 1e-9) return "1";
  if (x < 0.0005) {
    const [digit, power] = x.toExponential(0).split("e-");
    return `${digit}·10⁻${Array.from(power, (c) => UP[c]).join("")}`;
  }
  if (x < 0.01) return x.toFixed(3).slice(1);
  if (x > 0.995) return x > 0.9999 ? ">.9999" : x.toFixed(4).slice(1);
  return x.toFixed(2).slice(1);
}

// The same in a sentence, with its leading zero.
export function probLong(x) {
  return prob(x).replace(/^([<>]?)\./, (_, sign) => `${sign}0.`);
}

export function ratio(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  return (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2)) + "×";
}

export function times(x) {   // a threshold: may pass 1
  if (x === null || x === undefined) return "–";
  return x < 1 ? probLong(x) : x >= 100 ? ">99" : x.toFixed(2);
}

const inUnits = (s, milli) => ({
  ms(seconds) {
    const x = seconds * 1000;
    return x >= 1000 ? `${(x / 1000).toFixed(2)} ${s}` : x >= 10 ? `${x.toFixed(0)} ${milli}` : x >= 1 ? `${x.toFixed(1)} ${milli}` : `${x.toFixed(2)} ${milli}`;
  },
  secs: (x) => (x >= 10 ? `${x.toFixed(1)} ${s}` : `${x.toFixed(2)} ${s}`),
});
const inEnglish = inUnits("s", "ms");
export const ms = inEnglish.ms;
export const secs = inEnglish.secs;
export const inRussian = inUnits("с", "мс");

export function percent(x) {
  return x === null || x === undefined ? "–" : `${Math.round(100 * x)} %`;
}

export function rate(x) {
  return x === null || x === undefined || !Number.isFinite(x) ? "–" : x >= 9.95 ? x.toFixed(0) : x.toFixed(1);
}

export const COUNT = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
export const count = (n) => COUNT[n] ?? String(n);
export const capital = (s) => s.charAt(0).toUpperCase() + s.slice(1);
