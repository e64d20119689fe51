import test from "node:test";
import assert from "node:assert/strict";
import { categories, distance, distanceBand, simulation } from "../../../../assets/js/distributions/acceptance.js";
import { bandAt, CHECKPOINTS } from "../../../../assets/js/lossless/distance.js";
import { PRESETS } from "../../../../assets/js/lossless/tab.js";

const { p, q } = PRESETS.disagree, cats = categories(p, q);

test("about 95 % of honest runs lie in the band of the distance", () => {
  const bands = { first: distanceBand(p, 100, 600), limit: distanceBand(p) };
  for (const n of [100, 3000]) {
    let inside = 0;
    for (let seed = 0; seed < 300; seed++) {
      const d = distance(simulation("right", cats, seed).more(n).shares(), p), [low, high] = bandAt(bands, n);
      if (d >= low && d <= high) inside += 1;
    }
    assert.ok(inside >= 270 && inside <= 298, `${n}: ${inside}`);
  }
  assert.equal(CHECKPOINTS[0], 100);
  assert.equal(CHECKPOINTS.at(-1), 1000000);
});
