// The clock of the race: play, pause, from the start, and a slider over its seconds.
import { el, icon, say } from "../page/dom.js";
import { upTo } from "../page/numbers.js";

const RACE_SPEEDS = [0.25, 0.5, 1, 2, 4];   // times the recorded speed

// draw(t): the race after t seconds. setEnd(seconds): how long it is; the clock stays where it is.
export function createRaceClock(w, draw) {
  const play = el("button", { type: "button", class: "ss-btn ss-play", onclick: toggle }), time = el("output", { class: "ss-clock" });
  const scrub = el("input", { type: "range", class: "ss-range", min: 0, step: 0.01, value: 0, "aria-label": w.clock, oninput: scrubbed });
  const options = RACE_SPEEDS.map((s) => el("option", { value: s, text: `${upTo(s, 2)}×` }));
  const speed = el("select", { class: "ss-speed", "aria-label": w.speed, title: w.speed }, ...options);
  const toStart = { type: "button", class: "ss-btn", "aria-label": w.again, title: w.again, onclick: () => go(0) };
  const root = el("div", { class: "ss-transport ss-racebar" }, el("button", toStart, icon("first")), play, scrub, time, speed);
  let t = 0, end = 1, frame = 0, wall = 0;
  speed.value = "1";

  function go(to) {
    t = to;
    scrub.value = t;
    scrub.setAttribute("aria-valuetext", w.at(t));
    say(time, w.at(t));
    draw(t);
  }
  function scrubbed() {
    stop();
    go(Number(scrub.value));
  }
  function tick(now) {
    const next = Math.min(end, t + ((now - wall) / 1000) * Number(speed.value));
    wall = now;
    go(next);
    if (next >= end) stop();
    else frame = requestAnimationFrame(tick);
  }
  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
    sayPlay();
  }
  function toggle() {
    if (frame) {
      stop();
      return;
    }
    if (t >= end) t = 0;
    wall = performance.now();
    frame = requestAnimationFrame(tick);
    sayPlay();
  }
  function sayPlay() {
    const name = frame ? w.pause : w.play;
    play.replaceChildren(icon(frame ? "pause" : "play"));
    play.setAttribute("aria-label", name);
    play.title = name;
  }
  function setEnd(seconds) {
    end = seconds;
    scrub.max = end;
    go(Math.min(t, end));
    sayPlay();
  }
  return { root, go, stop, setEnd };
}
