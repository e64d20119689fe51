// The recorded runs as the server lists them (spec_ui/server/run_list.py), each fetched when it is chosen, and the live run of the Watch tab.
import { visible } from "../page/glyphs.js";
import { players } from "../page/players.js";
import { servedFile } from "../page/served.js";
import { openTab } from "../page/tabs.js";
import { finite, makeReader } from "./trace.js";

const cache = new Map();
const LIVE = "live";

async function fetchTrace(path) {
  const got = await fetch(servedFile(encodeURI(path)));
  if (!got.ok) throw new Error(`status ${got.status}`);
  return makeReader().read(await got.text()).trace;
}

// The trace of an entry, fetched once.
export async function loadRun(entry) {
  if (entry.name === LIVE) return entry.trace;
  if (!cache.has(entry.path)) {
    cache.set(entry.path, fetchTrace(entry.path));
    cache.get(entry.path).catch(() => cache.delete(entry.path));
  }
  return cache.get(entry.path);
}

// The run in the Watch tab as an entry, if it is a live one that drafts; else null. Its trace is in memory, nothing is fetched.
export function liveRun() {
  const player = players.filter((p) => p.trace?.source === LIVE && p.trace.rounds.some((r) => r.drafted.length)).at(-1);
  return player ? { name: LIVE, trace: player.trace, method: String(player.trace.run?.method ?? "") } : null;
}

// A recording as the text of a stream, as a player takes it.
export async function runText(entry) {
  const trace = await loadRun(entry);
  const lines = [
    { version: 1, run: trace.run, source: "recorded", name: entry.name },
    ...trace.rounds,
    { totals: trace.totals ?? {}, plain: trace.plain },
  ];
  return `${lines.map((l) => JSON.stringify(l)).join("\n")}\n`;
}

// Opens a recording in the Watch tab, as the chips there do.
export async function openInWatch(entry) {
  const player = players.at(0);
  if (!player) return false;
  player.update(await runText(entry));
  openTab("watch");
  window.scrollTo({ top: 0 });
  return true;
}

const cleanRun = (r) => ({
  ...r,
  method: String(r.method ?? ""),
  example: String(r.example ?? r.name),
  target: String(r.target ?? ""),
  tested: finite(r.tested) ?? 0,
  accepted: finite(r.accepted) ?? 0,
  ratio: finite(r.ratio),
  tokens_per_round: finite(r.tokens_per_round),
  several: r.several === true,
  temperature: finite(r.temperature),
  verify: String(r.verify ?? "chain"),
  seed: finite(r.seed),
  draft_len: finite(r.draft_len),
  costs: r.costs && typeof r.costs === "object" ? r.costs : {},
});

// The server's list, without what has not the right shape.
export const cleanRuns = (runs) =>
  (Array.isArray(runs) ? runs : []).filter((r) => r && typeof r.path === "string" && typeof r.name === "string").map(cleanRun);

// The name of an example in the page's language. A recording of one's own can have any name.
export const exampleName = (words, name) => words.examples[name] ?? visible(name).slice(0, 40);
