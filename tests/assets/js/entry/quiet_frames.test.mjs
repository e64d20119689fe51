import test from "node:test";
import assert from "node:assert/strict";
import { isTimer, quietFrames } from "../../../../assets/js/entry/quiet_frames.js";

// As Gradio's status tracker has it, minified; and what our own modules ask frames for.
const F = () => {}, Pe = 0, w = () => 0, de = 0, W = false, ze = () => {};
const leaked = ()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()};
const tick = (now) => { F(now - performance.now()); };

test("only a timer waits; every other frame comes at once", () => {
  const frames = [], waits = [];
  const win = { requestAnimationFrame: (f) => frames.push(f), setTimeout: (f, ms) => waits.push([f, ms]) };
  quietFrames(win);
  win.requestAnimationFrame(tick);
  win.requestAnimationFrame(leaked);
  assert.deepEqual(frames, [tick]);
  assert.equal(waits[0][1], 250);
  waits[0][0]();
  assert.deepEqual(frames, [tick, leaked]);
  assert.ok(!isTimer(() => 1) && !isTimer(tick) && isTimer(leaked));
});
