import test from "node:test";
import assert from "node:assert/strict";
import { buildSteps } from "../../../../assets/js/trace/steps.js";
import { tally } from "../../../../assets/js/trace/tally.js";
import { speedupLines, speedupNow } from "../../../../assets/js/watch/speedup_chart.js";
import { clockWindow, lanes } from "../../../../assets/js/watch/timeline.js";
import { read } from "../data.mjs";

test("lanes lie inside their rounds and on one clock", () => {
  const trace = read("sampled"), [from, to] = clockWindow(trace, 10, false), l = lanes(trace, from, to);
  assert.ok(to > from && l.draft.length && l.target.length && l.plain.length);
  for (const s of [...l.draft, ...l.target])
    assert.ok(s.a >= (trace.rounds[s.r - 1]?.elapsed_s ?? 0) - 1e-9 && s.b <= trace.rounds[s.r].elapsed_s + 1e-9);
  const { steps, ends } = buildSteps(trace.rounds), race = speedupLines(trace), now = speedupNow(race, trace, steps[ends[5]]);
  assert.equal(now.n, trace.rounds.slice(0, 6).reduce((n, r) => n + r.emitted.length, 0));
  assert.equal(now.plain.tokens, trace.plain.elapsed_s.filter((t) => t <= trace.rounds[5].elapsed_s).length);
  assert.equal(race.spec.y.at(-1), tally(trace).tokens);
});
