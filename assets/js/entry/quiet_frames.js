// Gradio 6.31 leaves the timer of its page loader running: sixty frames a second for nothing, a tenth of a core for each open page. Such a
// timer (a callback that reads the seconds since its start and does no more) gets four frames a second instead.
const TIMER = /^\(\)\s*=>\s*\{.{0,60}performance\.now\(\)\s*-.{0,60}\/\s*1e3.{0,60}\}$/s;

export const isTimer = (callback) => TIMER.test(Function.prototype.toString.call(callback));

export function quietFrames(win) {
  const ask = win.requestAnimationFrame.bind(win);
  win.requestAnimationFrame = (callback) => (isTimer(callback) ? win.setTimeout(() => ask(callback), 250) : ask(callback));
}
