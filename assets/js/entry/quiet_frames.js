// Gradio 6.31 leaves the timer of its page loader running for ever: sixty frames a second of work for nothing, a tenth of a core for
// each open page. Such a timer (it reads the seconds since its start, and no more) is given four frames a second instead.
const TIMER = /^\(\)\s*=>\s*\{.{0,60}performance\.now\(\)\s*-.{0,60}\/\s*1e3.{0,60}\}$/s;

export const isTimer = (callback) => TIMER.test(Function.prototype.toString.call(callback));

export function quietFrames(win) {
  const ask = win.requestAnimationFrame.bind(win);
  win.requestAnimationFrame = (callback) => (isTimer(callback) ? win.setTimeout(() => ask(callback), 250) : ask(callback));
}
