import test from "node:test";
import assert from "node:assert/strict";
import { barRows, pinAt } from "../../../../assets/js/distributions/rows.js";
import { read } from "../data.mjs";

const sampled = read("sampled");
const d = (x) => ({ text: " a", p: 0.2, q: 0.37, u: 0.31, threshold: 0.5405, verdict: "accepted", ...x });

test("bars: every row splits, the whole sums to 1, the rest carries its own overlap", () => {
  for (const round of sampled.rounds) for (const table of round.tables) {
    const m = barRows(table, { drafted: table.ids[0] });
    const sum = (k) => m.rows.reduce((s, r) => s + (r[k] ?? 0), 0);
    assert.ok(Math.abs(sum("p") - 1) < 1e-4, `p sums to ${sum("p")}`);
    if (!m.hasQ) continue;
    assert.ok(Math.abs(sum("q") - 1) < 1e-4);
    assert.ok(Math.abs(sum("agreed") - table.overlap) < 1e-4, "agreed parts add up to the overlap");
    for (const r of m.rows) assert.ok(Math.abs(r.agreed + r.pmore - r.p) < 1e-9 && Math.abs(r.agreed + r.qmore - r.q) < 1e-9);
    if (m.hasResidual) assert.ok(Math.abs(sum("residual") - 1) < 1e-4);
  }
});

test("the drafted and the drawn token are always listed", () => {
  const n = 30;
  const table = {
    after: -1,
    ids: [...Array(n).keys()],
    texts: Array(n).fill("t"),
    p: Array(n).fill(0.03),
    q: Array(n).fill(0.03),
    residual: null,
    overlap: 0.9,
    others: { p: 0.1, q: 0.1, overlap: 0.05 },
  };
  const m = barRows(table, { drafted: 29, drawn: 28, limit: 5 });
  assert.ok(m.rows.some((r) => r.isDrafted) && m.rows.some((r) => r.isDrawn));
  assert.equal(m.rows.length, 6);
  assert.ok(Math.abs(m.rows.at(-1).agreed - (0.05 + 25 * 0.03)) < 1e-9);
});

test("the pin is drawn only where u·q tells whether it was accepted", () => {
  assert.ok(Math.abs(pinAt(d()) - 0.31 * 0.37) < 1e-9);
  assert.equal(pinAt(d({ threshold: 0.9 })), null);
  assert.equal(pinAt(d({ u: null })), null);
  assert.equal(pinAt(d({ verdict: "not_reached" })), null);
  assert.ok(pinAt(d({ p: 0.5, threshold: 1 })) > 0 && pinAt(d({ p: 0.5, threshold: 1.351 })) > 0, "capped or not");
  for (const round of sampled.rounds) for (const x of round.drafted) {
    const pin = pinAt(x);
    if (pin !== null) assert.equal(pin < x.p, x.verdict === "accepted", "left of p's end means kept");
  }
});
