// Speculative sampling of one token over a handful of categories: the rule, its broken relatives, their exact laws, and dice.
// A category is {p, q, agreed}. `agreed` is min(p, q), except for "all others" of a record, where the sum of the mins is given.

export const RULES = ["right", "greedy", "target", "threshold"];
const TINY = 1e-12;

export function normalise(law) {
  const total = law.reduce((s, x) => s + x, 0);
  return total > 0 ? law.map((x) => x / total) : law.map(() => 1 / law.length);
}

// Sets one weight; the others keep their proportions and share the rest.
export function setWeight(law, i, value) {
  const x = Math.min(1, Math.max(0, value)), rest = law.reduce((s, y, k) => (k === i ? s : s + y), 0);
  return law.map((y, k) => (k === i ? x : rest > TINY ? (y * (1 - x)) / rest : (1 - x) / (law.length - 1)));
}

export const categories = (p, q) => p.map((x, i) => ({ p: x, q: q[i], agreed: Math.min(x, q[i]) }));

export const overlap = (cats) => cats.reduce((s, c) => s + c.agreed, 0);

// norm(max(0, p - q)); p itself where the two laws agree (then it is never used).
export function residual(cats) {
  const mass = cats.reduce((s, c) => s + Math.max(0, c.p - c.agreed), 0);
  return cats.map((c) => (mass > TINY ? Math.max(0, c.p - c.agreed) / mass : c.p));
}

// The stacked identity, row by row, with what the arithmetic loses.
export function identity(cats) {
  const beta = overlap(cats), r = residual(cats);
  const rows = cats.map((c, i) => {
    const resampled = (1 - beta) * r[i];
    return { ...c, resampled, sum: c.agreed + resampled, error: c.agreed + resampled - c.p };
  });
  return { rows, overlap: beta, residual: r, error: Math.max(...rows.map((x) => Math.abs(x.error))) };
}

const favourite = (cats) => cats.reduce((best, c, i) => (c.q > cats[best].q ? i : best), 0);

// The chance that category i is drafted, that a draft of it is kept, and the law of the replacement.
export function rule(name, cats) {
  const best = favourite(cats);
  return {
    draft: name === "greedy" ? cats.map((_, i) => (i === best ? 1 : 0)) : cats.map((c) => c.q),
    keep: cats.map((c) => (c.q <= 0 ? 0 : name === "threshold" ? (c.p >= c.q ? 1 : 0) : Math.min(1, c.agreed / c.q))),
    replace: name === "target" ? cats.map((c) => c.p) : residual(cats),
  };
}

// What the rule really draws, in closed form: kept drafts plus replacements.
export function lawOf(name, cats) {
  const { draft, keep, replace } = rule(name, cats);
  const kept = draft.map((d, i) => d * keep[i]), rejected = 1 - kept.reduce((s, x) => s + x, 0);
  return kept.map((x, i) => x + rejected * replace[i]);
}

export const distance = (a, b) => a.reduce((s, x, i) => s + Math.abs(x - b[i]), 0) / 2;

// Small fast counter generator (Chris Doty-Humphrey's sfc32), seeded: the same seed gives the same draws everywhere.
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

function drawer(law) {
  const edges = [];
  let sum = 0, last = 0;
  law.forEach((x, i) => { sum += x; edges.push(sum); if (x > 0) last = i; });
  return (u) => {
    const x = u * sum;
    for (let i = 0; i < last; i++) if (x < edges[i]) return i;
    return last;
  };
}

// A run that goes on: `more(n)` plays n more rounds. kept and resampled count apart, so that the histogram can stack them.
export function simulation(name, cats, seed) {
  const { draft, keep, replace } = rule(name, cats), roll = dice(seed);
  const drafts = drawer(draft), replacements = drawer(replace);
  const state = { n: 0, kept: cats.map(() => 0), resampled: cats.map(() => 0),
    more(n) {
      for (let i = 0; i < n; i++) {
        const x = drafts(roll());
        if (roll() < keep[x]) state.kept[x] += 1;
        else state.resampled[replacements(roll())] += 1;
      }
      state.n += n;
      return state;
    },
    law: () => cats.map((_, i) => (state.kept[i] + state.resampled[i]) / Math.max(1, state.n)) };
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
    if (above > below) { mass += above; high += 1; above = high < n ? (above * (n - high) * p) / ((high + 1) * (1 - p)) : -1; }
    else { mass += below; low -= 1; below = low > 0 ? (below * low * (1 - p)) / ((n - low + 1) * p) : -1; }
  }
  return [low, high];
}

// E |X/n - p| of a binomial X: de Moivre's exact formula.
export function meanDeviation(n, p) {
  if (p <= 0 || p >= 1) return 0;
  const k = Math.floor(n * p) + 1;
  if (k > n) return (2 * (1 - p) * Math.exp(n * Math.log(p)));
  return (2 * k * (1 - p) * Math.exp(logChance(k, n, p))) / n;
}

// The distance to p that n honest draws from p have on average: exact, and falling as 1 / sqrt(n).
export const expectedDistance = (n, law) => law.reduce((s, p) => s + meanDeviation(n, p), 0) / 2;

function gauss(roll) {
  return Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll());
}

// [low, high] of sqrt(n) * distance for the middle 95 % of honest runs of n draws: by repeating them, n small; by their normal limit else.
export function distanceBand(law, n = Infinity, repeats = 2000) {
  const roll = dice(12345), found = [], pick = drawer(law), roots = law.map(Math.sqrt);
  for (let r = 0; r < repeats; r++) {
    let d = 0;
    if (n <= 200) {
      const counts = law.map(() => 0);
      for (let i = 0; i < n; i++) counts[pick(roll())] += 1;
      d = counts.reduce((s, c, i) => s + Math.abs(c / n - law[i]), 0) * Math.sqrt(n);
    } else {
      const z = roots.map((s) => s * gauss(roll)), total = z.reduce((s, x) => s + x, 0);   // cov diag(p) - p p'
      d = z.reduce((s, x, i) => s + Math.abs(x - law[i] * total), 0);
    }
    found.push(d / 2);
  }
  found.sort((a, b) => a - b);
  return [found[Math.floor(0.025 * repeats)], found[Math.ceil(0.975 * repeats) - 1]];
}

// The categories at one recorded position: the listed tokens by weight, then all others. Null where no draft was made (the bonus).
export function fromTable(table, limit = 6) {
  if (!Array.isArray(table.q) || !Array.isArray(table.p)) return null;
  const all = table.ids
    .map((id, k) => ({ id, text: table.texts[k], p: table.p[k] ?? 0, q: table.q[k] ?? 0 }))
    .map((c) => ({ ...c, agreed: Math.min(c.p, c.q), others: false }));
  const order = [...all].sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
  const shown = new Set(order.slice(0, limit).filter((c) => Math.max(c.p, c.q) > 0));
  const cats = all.filter((c) => shown.has(c)), hidden = all.filter((c) => !shown.has(c)), o = table.others;
  const sum = (key) => cats.reduce((s, c) => s + c[key], 0);
  // What is left to one, rather than the recorded sums: these were rounded one by one. The overlap is the record's own.
  const p = Math.max(0, 1 - sum("p")), q = Math.max(0, 1 - sum("q"));
  const agreed = Math.min(p, q, (o.overlap ?? 0) + hidden.reduce((s, c) => s + c.agreed, 0));
  if (p > 1e-9 || q > 1e-9) cats.push({ id: null, text: "", p, q, agreed, others: true });
  return cats;
}
