import test from "node:test";
import assert from "node:assert/strict";
import { distance, distributionOf, fromTable, identity, overlap } from "../../../../assets/js/distributions/acceptance.js";
import { openingPlace, positions } from "../../../../assets/js/lossless/recorded.js";
import { read } from "../data.mjs";

const sum = (x) => x.reduce((a, b) => a + b, 0);

test("a real position: its tokens and all others are two distributions, with the recorded overlap", () => {
  const trace = read("sampled");
  let seen = 0;
  for (const round of trace.rounds) for (const { cats: c, table } of positions(round)) {
    seen += 1;
    assert.ok(Math.abs(sum(c.map((x) => x.p)) - 1) < 1e-9 && Math.abs(sum(c.map((x) => x.q)) - 1) < 1e-9);
    assert.ok(c.length <= 7 && c.every((x) => x.agreed <= Math.min(x.p, x.q) + 1e-12));
    assert.ok(Math.abs(overlap(c) - table.overlap) < 1e-5);
    assert.ok(identity(c).error < 1e-15);
    assert.ok(distance(distributionOf("right", c), c.map((x) => x.p)) < 1e-12);
  }
  assert.ok(seen > 20);
  const at = openingPlace(trace);
  assert.notEqual(trace.rounds[at.r].drafted[at.i].verdict, "not_reached");
  assert.equal(fromTable({ q: null, p: [1], ids: [1], texts: ["a"], others: {} }), null);
});
