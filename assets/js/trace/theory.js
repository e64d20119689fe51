// The closed forms of core/measuring/theory.py (a test compares the two number for number), the cost of a pass of any length, and intervals.

// Tokens that a round of k drafted tokens emits on average where each is accepted with probability alpha (Leviathan et al. 2023).
export function expectedTokens(alpha, k) {
  let sum = 0;
  for (let i = 0; i <= k; i++) sum += alpha ** i;
  return sum;
}

// Plain time / speculative time. c = draft step / target step, v = pass over k + 1 tokens / pass over one.
export const speedUp = (alpha, k, c, v = 1) => expectedTokens(alpha, k) / (k * c + v);

// [k, speed-up] with the largest speed-up; v[k] for k = 0, 1, ...; k = 0 means: do not speculate.
export function bestLength(alpha, c, v) {
  return v.map((x, k) => [k, speedUp(alpha, k, c, x)]).reduce((best, now) => (now[1] > best[1] ? now : best));
}

// The smallest alpha that pays, or null where even alpha = 1 does not.
export function breakEven(k, c, v = 1) {
  if (speedUp(1, k, c, v) < 1) return null;
  let low = 0, high = 1;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (speedUp(middle, k, c, v) >= 1) high = middle; else low = middle;
  }
  return high;
}

// Wilson's 95 % interval of a rate: [low, high]. It holds for few trials and near 0 and 1 too.
export function wilson(accepted, of, z = 1.959964) {
  if (!(of > 0)) return [0, 1];
  const p = accepted / of, d = 1 + (z * z) / of, middle = (p + (z * z) / (2 * of)) / d;
  const half = (z * Math.sqrt((p * (1 - p)) / of + (z * z) / (4 * of * of))) / d;
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

// Measured passes, {"tokens": seconds, ...} -> [[tokens, seconds], ...] in order; what is not a number is left out.
export function passPoints(passes) {
  return Object.entries(passes ?? {})
    .map(([n, s]) => [Number(n), s])
    .filter(([n, s]) => Number.isInteger(n) && n > 0 && Number.isFinite(s) && s > 0)
    .sort((a, b) => a[0] - b[0]);
}

// Seconds of a pass over n tokens: measured, or interpolated between its measured neighbours, or extrapolated from the last two.
export function passSeconds(points, n) {
  if (!points.length) return null;
  if (points.length === 1 || n <= points[0][0]) return points[0][1];
  let k = points.findIndex(([m]) => m >= n);
  if (k < 0) k = points.length - 1;
  const [n0, s0] = points[k - 1], [n1, s1] = points[k];
  return Math.max(s0 + ((s1 - s0) * (n - n0)) / (n1 - n0), 1e-9);
}

// Whether measured times can be right: a pass over more tokens does at least the same work, so none may be clearly shorter than that of one.
export const believable = (points) => points.every(([, s]) => s >= 0.93 * passSeconds(points, 1));

// A pass on the line through those over one and five tokens: seconds spent once, seconds for each token, and five tokens over one.
export function passParts(points) {
  const one = passSeconds(points, 1), five = passSeconds(points, 5), each = one ? Math.max(0, (five - one) / 4) : 0;
  return { once: one ? Math.max(0, one - each) : 0, each, five: one ? Math.max(1, five / one) : 1 };
}

// The two ratios of the closed form from measured seconds: c, and v as a function of the draft length. c = 0 where no model drafts.
export function ratios(costs) {
  const points = passPoints(costs.passes), one = passSeconds(points, 1);
  if (!one) return null;
  // A pass over more tokens is never quicker: below 1 is the noise of a clock.
  return { points, one, c: (costs.draft ?? 0) / one, v: (k) => Math.max(1, passSeconds(points, k + 1) / one) };
}

// The cost of a pass that other requests fill too: load 0 is as measured, at load 1 each further token costs a step of its own.
export const filled = (v, load) => (k) => v(k) + load * Math.max(0, k + 1 - v(k));

// The costs of this machine's calibration or of a recording, in one shape. draft: seconds by method, or of the recording's own method.
export function costsOf(calibration) {
  return {
    passes: calibration.pass_s ?? calibration.verify_s ?? {},
    draft: calibration.draft_step_s ?? null,
    weights: calibration.weights_bytes ?? null,
    memory: calibration.memory_bytes_per_s ?? null,
    threads: calibration.threads ?? null,
    device: calibration.device ?? null,
    dtype: calibration.dtype ?? null,
  };
}

// Seconds for reading the weights once at memory speed, the least that a pass can take; null where it is not known.
export const floorSeconds = (costs) => (costs.weights > 0 && costs.memory > 0 ? costs.weights / costs.memory : null);
