// The clock that plays a run. At a pace it goes step by step, so many a second; at a speed it goes to the last step whose recorded time has
// come.
export const PACES = [1, 4];   // steps a second; the first is where a page begins
export const SPEEDS = [0.05, 0.25, 0.5, 1, 2, 4];   // times the recorded speed

// Pure: the last step at or before `t`, from `at` on.
export function stepAt(steps, at, t) {
  let k = at;
  while (k + 1 < steps.length && steps[k + 1].t <= t) k += 1;
  return k;
}

// Pure: playing at a pace, after `seconds` more. due: the part of the next step that has passed. However late a frame comes, the clock moves by
// one step only: each is there to be read.
export function dueAfter(due, seconds, pace) {
  const next = due + Math.min(1, seconds * pace);
  return next >= 1 ? { move: true, due: next - 1 } : { move: false, due: next };
}

// steps(): all steps; at(): where the reader is; move(k): go to step k; ended(): the last step is reached.
export function createClock({ steps, at, move, ended }) {
  let frame = 0, t = 0, wall = 0, speed = 1, pace = PACES[0], due = 0;
  function next(seconds) {
    if (pace === null) return stepAt(steps(), at(), (t += seconds * speed));
    const got = dueAfter(due, seconds, pace);
    due = got.due;
    return at() + (got.move ? 1 : 0);
  }
  function tick(now) {
    const k = next((now - wall) / 1000);
    wall = now;
    if (k !== at()) move(k);
    if (at() < steps().length - 1) {
      frame = requestAnimationFrame(tick);
      return;
    }
    stop();
    ended();
  }
  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
  }
  // The reader has moved: the clock goes on from there.
  function seek() {
    t = steps()[at()]?.t ?? 0;
    due = 0;
  }
  return {
    play() {
      if (frame) return;
      seek();
      due = 0.5;   // half a step's time to see where it begins
      wall = performance.now();
      frame = requestAnimationFrame(tick);
    },
    stop,
    seek,
    get playing() { return frame !== 0; },
    // {pace} in steps a second, or {speed} times the recorded one.
    set(to) {
      pace = to.pace ?? null;
      speed = to.speed ?? 1;
      seek();
    },
  };
}
