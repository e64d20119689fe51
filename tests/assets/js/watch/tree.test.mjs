import test from "node:test";
import assert from "node:assert/strict";
import { treeLayout } from "../../../../assets/js/watch/tree.js";
import { read } from "../data.mjs";

test("a tree's layout gives every leaf its own row", () => {
  const round = read("tree").rounds.find((r) => r.drafted.length > 4), l = treeLayout(round);
  const parents = new Set(round.drafted.map((d) => d.parent)), leaves = round.drafted.map((_, i) => i).filter((i) => !parents.has(i));
  assert.equal(new Set(leaves.map((i) => l.y[i])).size, leaves.length);
  assert.equal(l.rows, leaves.length);
});
