import test from "node:test";
import assert from "node:assert/strict";
import { cameOf, shapeRows } from "../../../../assets/js/faster/shape_panel.js";
import { FASTER_EN } from "../../../../assets/js/words/en/faster.js";
import { FASTER_RU } from "../../../../assets/js/words/ru/faster.js";
import { read } from "../data.mjs";

const shapes = [
  { levels: 0, nodes: 0, tokens: 1, seconds: 0.01 }, { levels: 4, nodes: 4, tokens: 2.5, seconds: 0.02 },
  { levels: 1, nodes: 1, tokens: 1.6, seconds: 0.011 }, { levels: 3, nodes: 6, tokens: 2.6, seconds: 0.05 },
];

test("what came of each shape adds up to the run behind the prompt's pass", () => {
  for (const name of ["sampled", "tree", "greedy"]) {
    const trace = read(name), all = [...cameOf(trace).values()], rounds = trace.rounds.slice(1);
    assert.equal(all.reduce((n, x) => n + x.rounds, 0), rounds.length);
    assert.equal(all.reduce((n, x) => n + x.tokens, 0), rounds.reduce((n, r) => n + r.emitted.length, 0));
    const seconds = trace.rounds.at(-1).elapsed_s - trace.rounds[0].elapsed_s;
    assert.ok(Math.abs(all.reduce((n, x) => n + x.seconds, 0) - seconds) < 1e-9);
    assert.ok(all.every((x) => (x.nodes === 0) === (x.levels === 0) && x.nodes >= x.levels));
  }
});

test("rows: best expectation first, no draft always among them, nothing from a damaged or older file", () => {
  const trace = read("sampled");
  trace.run.expected = shapes;
  const rows = shapeRows(trace);
  assert.deepEqual(rows.map((r) => r.nodes), [1, 4, 0, 6]);
  assert.ok(rows.some((r) => r.came) && rows.every((r) => r.expected.rate > 0));
  trace.run.expected = Array.from({ length: 30 }, (_, k) => ({ levels: k, nodes: k, tokens: 1 + k, seconds: 1 }));
  assert.ok(shapeRows(trace).length === 6 && shapeRows(trace).some((r) => !r.levels));
  for (const bad of [undefined, 7, [], [null, { levels: -1 }, { levels: 1, nodes: 1, tokens: 1, seconds: 0 }]]) {
    trace.run.expected = bad;
    assert.deepEqual(shapeRows(trace), []);
  }
});

test("the words say the arithmetic and the shape in both languages", () => {
  for (const words of [FASTER_EN, FASTER_RU]) {
    const exact = words.costs.arithmetic("w4a16", { row_exact: true, arithmetic: { tried: { w4a16: {}, float32: {} } } });
    assert.ok(exact.includes("w4a16") && exact.includes("2") && exact !== words.costs.arithmetic("bfloat16", { row_exact: false }));
    assert.equal(words.shape.head.length, 7);
    for (const s of shapes) assert.ok(words.shape.shape(s) && words.shape.sentence(s, 1.2));
  }
});
