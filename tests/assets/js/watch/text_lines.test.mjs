import test from "node:test";
import assert from "node:assert/strict";
import { blockStarts } from "../../../../assets/js/watch/text_lines.js";

test("a block begins where a line and a round begin, after enough lines", () => {
  // two rounds a line of 40 pixels; the fourth runs over into the next line
  const spans = [[0, 0], [0, 0], [40, 40], [40, 80], [80, 80], [120, 120], [120, 120], [160, 160]];
  assert.deepEqual(blockStarts(spans, 80), [0, 5]);
  assert.deepEqual(blockStarts(spans, 40), [0, 2, 5, 7]);
  assert.deepEqual(blockStarts(spans, 1000), [0]);
});

test("rounds that show nothing begin no block", () => {
  assert.deepEqual(blockStarts([], 40), [0]);
  assert.deepEqual(blockStarts([null, [10, 10], null, [50, 50]], 40), [0, 3]);
});
