// Speculative sampling of one token over a few categories (Leviathan et al. 2023, Chen et al. 2023): the rule of acceptance, three wrong rules
// beside it, the exact distribution that each draws from, and dice that draw from it.
// A category is {p, q, agreed}. `agreed` is min(p, q); for "all others", many tokens in one, it is the sum of their minima.

// right: accept with probability min(1, p/q), else draw from the residual. Wrong: "greedy" drafts only q's likeliest token and still counts
// it as drawn from q; "target" draws the replacement from p itself; "threshold" accepts exactly where p >= q, without chance.
export const RULES = ["right", "greedy", "target", "threshold"];
const TINY = 1e-12;

export function normalise(weights) {
  const total = weights.reduce((s, x) => s + x, 0);
  return total > 0 ? weights.map((x) => x / total) : weights.map(() => 1 / weights.length);
}

// Sets one probability; the others keep their proportions and share the rest.
export function setWeight(probs, i, value) {
  const x = Math.min(1, Math.max(0, value)), rest = probs.reduce((s, y, k) => (k === i ? s : s + y), 0);
  return probs.map((y, k) => (k === i ? x : rest > TINY ? (y * (1 - x)) / rest : (1 - x) / (probs.length - 1)));
}

export const categories = (p, q) => p.map((x, i) => ({ p: x, q: q[i], agreed: Math.min(x, q[i]) }));

// The probability that a drafted token is accepted, whichever it is.
export const overlap = (cats) => cats.reduce((s, c) => s + c.agreed, 0);

// norm(max(0, p - q)); p itself where p and q are equal (then nothing is ever drawn from it).
export function residual(cats) {
  const mass = cats.reduce((s, c) => s + Math.max(0, c.p - c.agreed), 0);
  return cats.map((c) => (mass > TINY ? Math.max(0, c.p - c.agreed) / mass : c.p));
}

// The identity accepted + resampled = p, row by row, with its rounding error. accepted = min(p, q), resampled = (1 - overlap) * residual.
export function identity(cats) {
  const beta = overlap(cats), r = residual(cats);
  const rows = cats.map((c, i) => {
    const resampled = (1 - beta) * r[i];
    return { ...c, resampled, sum: c.agreed + resampled, error: c.agreed + resampled - c.p };
  });
  return { rows, overlap: beta, residual: r, error: Math.max(...rows.map((x) => Math.abs(x.error))) };
}

const favourite = (cats) => cats.reduce((best, c, i) => (c.q > cats[best].q ? i : best), 0);

// A rule as three lists: the probability that category i is drafted, that it is accepted if drafted, and that it replaces a rejected one.
function rule(name, cats) {
  const best = favourite(cats);
  return {
    draft: name === "greedy" ? cats.map((_, i) => (i === best ? 1 : 0)) : cats.map((c) => c.q),
    accept: cats.map((c) => (c.q <= 0 ? 0 : name === "threshold" ? (c.p >= c.q ? 1 : 0) : Math.min(1, c.agreed / c.q))),
    replace: name === "target" ? cats.map((c) => c.p) : residual(cats),
  };
}

// The distribution that a rule really draws from, in closed form: accepted drafts plus replacements.
export function distributionOf(name, cats) {
  const { draft, accept, replace } = rule(name, cats);
  const accepted = draft.map((d, i) => d * accept[i]), rejected = 1 - accepted.reduce((s, x) => s + x, 0);
  return accepted.map((x, i) => x + rejected * replace[i]);
}

// Half the sum of all differences (total variation).
export const distance = (a, b) => a.reduce((s, x, i) => s + Math.abs(x - b[i]), 0) / 2;

// A small fast generator (sfc32, Chris Doty-Humphrey) of uniform numbers in [0, 1): the same seed gives the same numbers everywhere.
export function dice(seed) {
  let a = 0x9e3779b9, b = seed >>> 0, c = Math.floor(seed / 4294967296) >>> 0, d = 1;
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 16; i++) next();
  return () => (next() + (next() >>> 11) / 2097152) / 4294967296;
}

// u -> the index that the uniform number u draws from a distribution.
function drawer(probs) {
  const edges = [];
  let sum = 0, last = 0;
  probs.forEach((x, i) => {
    sum += x;
    edges.push(sum);
    if (x > 0) last = i;
  });
  return (u) => {
    const x = u * sum;
    for (let i = 0; i < last; i++) if (x < edges[i]) return i;
    return last;
  };
}

// Draws by a rule: more(n) makes n more. Accepted and resampled tokens are counted apart, so that a histogram can stack them.
export function simulation(name, cats, seed) {
  const { draft, accept, replace } = rule(name, cats), roll = dice(seed);
  const drafts = drawer(draft), replacements = drawer(replace);
  const state = {
    n: 0,
    accepted: cats.map(() => 0),
    resampled: cats.map(() => 0),
    more(n) {
      for (let i = 0; i < n; i++) {
        const x = drafts(roll());
        if (roll() < accept[x]) state.accepted[x] += 1;
        else state.resampled[replacements(roll())] += 1;
      }
      state.n += n;
      return state;
    },
    // The share of each category among all draws so far.
    shares: () => cats.map((_, i) => (state.accepted[i] + state.resampled[i]) / Math.max(1, state.n)),
  };
  return state;
}

// ln k!: a table for small k, Stirling's series beyond (error below 1e-12).
const FACTORIALS = [0];
export function logFactorial(k) {
  if (k < 256) {
    while (FACTORIALS.length <= k) FACTORIALS.push(FACTORIALS.at(-1) + Math.log(FACTORIALS.length));
    return FACTORIALS[k];
  }
  return (k + 0.5) * Math.log(k) - k + 0.9189385332046727 + 1 / (12 * k) - 1 / (360 * k ** 3);
}

const logChance = (k, n, p) => logFactorial(n) - logFactorial(k) - logFactorial(n - k) + k * Math.log(p) + (n - k) * Math.log1p(-p);

// [low, high]: counts that hold the middle 95 % of a binomial, exactly (summed outwards from the mode).
export function binomialBand(n, p, level = 0.95) {
  if (p <= 0) return [0, 0];
  if (p >= 1) return [n, n];
  let low = Math.min(n, Math.floor((n + 1) * p)), high = low, mass = Math.exp(logChance(low, n, p));
  let below = low > 0 ? Math.exp(logChance(low - 1, n, p)) : -1, above = high < n ? Math.exp(logChance(high + 1, n, p)) : -1;
  while (mass < level && (below >= 0 || above >= 0)) {
    if (above > below) {
      mass += above;
      high += 1;
      above = high < n ? (above * (n - high) * p) / ((high + 1) * (1 - p)) : -1;
    } else {
      mass += below;
      low -= 1;
      below = low > 0 ? (below * low * (1 - p)) / ((n - low + 1) * p) : -1;
    }
  }
  return [low, high];
}

// E |X/n - p| of a binomial X: de Moivre's exact formula.
export function meanDeviation(n, p) {
  if (p <= 0 || p >= 1) return 0;
  const k = Math.floor(n * p) + 1;
  if (k > n) return 2 * (1 - p) * Math.exp(n * Math.log(p));
  return (2 * k * (1 - p) * Math.exp(logChance(k, n, p))) / n;
}

// The distance to p that n draws from p itself have on average, exactly. It falls as 1 / sqrt(n).
export const expectedDistance = (n, probs) => probs.reduce((s, p) => s + meanDeviation(n, p), 0) / 2;

function gauss(roll) {
  return Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll());
}

// [low, high] of sqrt(n) * distance for the middle 95 % of runs of n draws from p itself: by repeating the draws where n is small, else by
// their normal limit.
export function distanceBand(probs, n = Infinity, repeats = 2000) {
  const roll = dice(12345), found = [], pick = drawer(probs), roots = probs.map(Math.sqrt);
  for (let r = 0; r < repeats; r++) {
    let d = 0;
    if (n <= 200) {
      const counts = probs.map(() => 0);
      for (let i = 0; i < n; i++) counts[pick(roll())] += 1;
      d = counts.reduce((s, c, i) => s + Math.abs(c / n - probs[i]), 0) * Math.sqrt(n);
    } else {
      const z = roots.map((s) => s * gauss(roll)), total = z.reduce((s, x) => s + x, 0);   // covariance diag(p) - p p'
      d = z.reduce((s, x, i) => s + Math.abs(x - probs[i] * total), 0);
    }
    found.push(d / 2);
  }
  found.sort((a, b) => a - b);
  return [found[Math.floor(0.025 * repeats)], found[Math.ceil(0.975 * repeats) - 1]];
}

// The categories of a recorded position: its likeliest tokens in the order of the record, then "all others". Null without q (a bonus position).
export function fromTable(table, limit = 6) {
  if (!Array.isArray(table.q) || !Array.isArray(table.p)) return null;
  const all = table.ids
    .map((id, k) => ({ id, text: table.texts[k], p: table.p[k] ?? 0, q: table.q[k] ?? 0 }))
    .map((c) => ({ ...c, agreed: Math.min(c.p, c.q), others: false }));
  const order = [...all].sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
  const shown = new Set(order.slice(0, limit).filter((c) => Math.max(c.p, c.q) > 0));
  const cats = all.filter((c) => shown.has(c)), hidden = all.filter((c) => !shown.has(c)), o = table.others;
  const sum = (key) => cats.reduce((s, c) => s + c[key], 0);
  // The rest to 1, rather than the recorded sums, which were rounded one by one. The overlap is the record's own.
  const p = Math.max(0, 1 - sum("p")), q = Math.max(0, 1 - sum("q"));
  const agreed = Math.min(p, q, (o.overlap ?? 0) + hidden.reduce((s, c) => s + c.agreed, 0));
  if (p > 1e-9 || q > 1e-9) cats.push({ id: null, text: "", p, q, agreed, others: true });
  return cats;
}
