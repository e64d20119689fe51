import test from "node:test";
import assert from "node:assert/strict";
import { isTree, makeReader } from "../../../../assets/js/trace/trace.js";
import { traces } from "../data.mjs";

test("stream and file parse alike", () => {
  const a = makeReader().read(traces.sampled.ndjson).trace, b = makeReader().read(JSON.stringify(traces.sampled.file, null, 2)).trace;
  assert.deepEqual(a.rounds, b.rounds);
  assert.deepEqual(a.plain, b.plain);
  assert.equal(a.rounds.length, traces.sampled.file.rounds.length);
});

test("a growing value is read once, half lines wait, a new value starts anew", () => {
  const reader = makeReader(), text = traces.sampled.ndjson;
  let rounds = 0;
  for (let n = 0; n <= text.length; n += 997) {
    const got = reader.read(text.slice(0, n));
    assert.ok(got.trace.rounds.length >= rounds);
    if (n > 997 * 8) assert.equal(got.fresh, false);
    rounds = got.trace.rounds.length;
  }
  assert.equal(reader.read(text).trace.rounds.length, traces.sampled.file.rounds.length);
  assert.equal(reader.read(traces.greedy.ndjson).fresh, true);
});

test("unknown lines and keys are ignored, the last totals line wins", () => {
  const lines = traces.sampled.ndjson.trimEnd().split("\n");
  const odd =
    [
      lines[0],
      '{"hello":1}',
      "not json",
      ...lines.slice(1, -1),
      '{"totals":{"stop":"length"},"plain":null}',
      '{"plain_progress":{"tokens":9}}',
      lines.at(-1),
    ].join("\n") + "\n";
  const { trace } = makeReader().read(odd);
  assert.equal(trace.rounds.length, traces.sampled.file.rounds.length);
  assert.equal(trace.totals.stop, "eos");
  assert.equal(trace.progress, 9);
  assert.ok(trace.plain.elapsed_s.length > 5);
});

test("hostile shapes never throw", () => {
  for (const line of [
    "null",
    "[]",
    "1",
    '{"rounds":null,"totals":7}',
    '{"drafted":[{"parent":99,"p":"x"}],"emitted":[{}],"tables":[{"ids":3}]}',
    '{"run":5}',
    '{"drafted":[{}],"emitted":[{"text":{"a":1}}]}',
  ])
    makeReader().read(`${line}\n`);
  const { trace } = makeReader().read('{"drafted":[{"parent":99,"p":"x","verdict":"?"}],"emitted":[{"kind":"?"}],"tables":[]}\n{}\n');
  assert.deepEqual(
    { ...trace.rounds[0].drafted[0] },
    { id: null, text: "", parent: -1, p: null, q: null, u: null, threshold: null, verdict: "not_reached" },
  );
  assert.equal(trace.rounds[0].emitted[0].kind, "plain");
});

test("a tree is told from a chain", () => {
  assert.equal(makeReader().read(traces.tree.ndjson).trace.rounds.some(isTree), true);
  assert.equal(makeReader().read(traces.sampled.ndjson).trace.rounds.some(isTree), false);
});

test("the drafted tokens of a coupled run say so, in both forms; those of other runs, and at temperature 0, do not", () => {
  const of = (value) => makeReader().read(value).trace.rounds.flatMap((r) => r.drafted), { file, ndjson } = traces.coupled;
  for (const value of [ndjson, JSON.stringify(file)]) assert.ok(of(value).length > 20 && of(value).every((d) => d.coupled === true && d.u === null));
  const greedy = { ...file, run: { ...file.run, sampling: { temperature: 0 } } };
  for (const value of [traces.sampled.ndjson, traces.greedy.ndjson, JSON.stringify(greedy)]) assert.ok(of(value).every((d) => !("coupled" in d)));
});
