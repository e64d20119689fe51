// The recorded runs as the server lists them (spec_ui/server/run_list.py), fetched when chosen, and the run that stands in the Watch tab.
import { el } from "../page/dom.js";
import { short, visible } from "../page/glyphs.js";
import { players } from "../page/players.js";
import { openTab } from "../page/tabs.js";
import { finite, makeReader } from "./trace.js";

const cache = new Map();
const LIVE = "live";

function url(path) {
  const root = (window.gradio_config?.root || new URL(".", document.baseURI).href).replace(/\/$/, "");
  return `${root}/gradio_api/file=${encodeURI(path)}`;
}

// A trace by its file: from our own server, once.
export async function loadRun(entry) {
  if (entry.name === LIVE) return entry.trace;
  if (!cache.has(entry.path)) {
    cache.set(
      entry.path,
      fetch(url(entry.path))
        .then((r) => {
          if (!r.ok) throw new Error(`status ${r.status}`);
          return r.text();
        })
        .then((text) => ({ text, trace: makeReader().read(text).trace })),
    );
    cache.get(entry.path).catch(() => cache.delete(entry.path));
  }
  return (await cache.get(entry.path)).trace;
}

// The run in the Watch tab if it is a live one that drafts: the page's own memory, nothing is asked for.
export function liveRun() {
  const player = players.filter((p) => p.trace?.source === LIVE && p.trace.rounds.some((r) => r.drafted.length)).at(-1);
  return player ? { name: LIVE, trace: player.trace, method: String(player.trace.run?.method ?? "") } : null;
}

// What the reader made of a recording's file, as stream text again: a player then keeps its place by it.
export async function runText(entry) {
  const trace = await loadRun(entry);
  const lines = [
    { version: 1, run: trace.run, source: "recorded", name: entry.name },
    ...trace.rounds,
    { totals: trace.totals ?? {}, plain: trace.plain },
  ];
  return `${lines.map((l) => JSON.stringify(l)).join("\n")}\n`;
}

// Opens a recording in the Watch tab, as its chips would.
export async function openInWatch(entry) {
  const player = players.at(0);
  if (!player) return false;
  player.update(await runText(entry));
  openTab("watch");
  window.scrollTo({ top: 0 });
  return true;
}

// Only what has the right shape gets in: the list travels through the page's configuration.
export const cleanRuns = (runs) =>
  (Array.isArray(runs) ? runs : [])
    .filter((r) => r && typeof r.path === "string" && typeof r.name === "string")
    .map((r) => ({
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
      draft_len: finite(r.draft_len),
      costs: r.costs && typeof r.costs === "object" ? r.costs : {},
    }));

// An example's name in the words of a language; a file of one's own may be called anything.
export const exampleName = (words, name) => words.examples[name] ?? visible(name).slice(0, 40);

// Chips to choose one run: radios, so that arrow keys work as everywhere.
let groups = 0;
export function createRunChips(legend, textOf, pick) {
  const name = `ss-runs-${(groups += 1)}`, box = el("fieldset", { class: "ss-choice" });
  return { root: box, draw(entries, chosen) {
    const had = box.contains(document.activeElement);
    box.replaceChildren(el("legend", { text: legend }), ...entries.map((entry) => {
      const input = el("input", { type: "radio", name, value: entry.name, onchange: () => pick(entry) });
      input.checked = entry.name === chosen?.name;
      return el("label", {}, input, el("span", { text: short(textOf(entry).replaceAll(" ", "\u2009"), 48) }));
    }));
    if (had) box.querySelector("input:checked")?.focus();
  } };
}
