import test from "node:test";
import assert from "node:assert/strict";
import { tuneRows } from "../../../../assets/js/methods/tune.js";
import { METHODS_EN } from "../../../../assets/js/words/en/methods.js";

test("a report of what was tuned: exits in order, the best named, what has not the right shape left out", () => {
  const row = (more) => ({ exit_layer: null, skip_layers: null, ratio: 0.5, agreement: 0.4, tokens_per_round: 1.5, ...more });
  const { exits, skips, best } = tuneRows({
    rows: [
      row({ exit_layer: "20", ratio: 0.7 }),
      row({ exit_layer: "15" }),
      row({ skip_layers: "8-20", ratio: 0.9 }),
      row({}),
      row({ exit_layer: "9", ratio: "x" }),
      null,
      row({ exit_layer: "3", skip_layers: "4" }),
    ],
  });
  assert.deepEqual(exits.map((r) => r.exit), ["15", "20"]);
  assert.deepEqual([skips.length, best.skip], [1, "8-20"]);
  assert.equal(tuneRows(null).best, null);
  assert.match(METHODS_EN.tune.best("exit after layer 20", 0.7), /0\.70× of plain speed\. With this target it does not pay/);
  assert.doesNotMatch(METHODS_EN.tune.best("exit after layer 20", 1.2), /does not pay/);
});
