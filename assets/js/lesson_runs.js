// The lesson's recordings: the server's list, each file fetched once, as the stream text that a player takes.
import { loadRun } from "./runs.js";

// What the reader made of a file, as text again: the player then keeps its place by it.
export async function runText(entry) {
  const trace = await loadRun(entry), lines = [{ version: 1, run: trace.run, source: "recorded", name: entry.name }, ...trace.rounds, { totals: trace.totals ?? {}, plain: trace.plain }];
  return `${lines.map((l) => JSON.stringify(l)).join("\n")}\n`;
}
