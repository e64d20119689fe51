// Playing at the recorded speed: one requestAnimationFrame loop that moves to the last step whose time has come.
export const SPEEDS = [0.05, 0.25, 0.5, 1, 2, 4];

// Pure: the last step at or before `t`, from `at` on. A pause longer than `gap` seconds in the record is cut short.
export function stepAt(steps, at, t) {
  let k = at;
  while (k + 1 < steps.length && steps[k + 1].t <= t) k += 1;
  return k;
}

export function createClock({ steps, at, move, ended }) {
  let frame = 0, t = 0, wall = 0, speed = 1;
  function tick(now) {
    t += ((now - wall) / 1000) * speed;
    wall = now;
    const next = stepAt(steps(), at(), t);
    if (next !== at()) move(next);
    if (at() >= steps().length - 1) { stop(); ended(); return; }
    frame = requestAnimationFrame(tick);
  }
  function stop() { cancelAnimationFrame(frame); frame = 0; }
  return {
    play() { if (frame) return; t = steps()[at()]?.t ?? 0; wall = performance.now(); frame = requestAnimationFrame(tick); },
    stop,
    get playing() { return frame !== 0; },
    get speed() { return speed; },
    set speed(x) { speed = x; },
    seek() { t = steps()[at()]?.t ?? 0; },
  };
}
