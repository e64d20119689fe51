// "Why so many tokens a round?": what the run expected of each shape of a draft before it began, beside what came.
import { el, say } from "../page/dom.js";
import { prose } from "../page/glossary.js";
import { fillTable } from "../page/table.js";
import { depths } from "../trace/steps.js";

const MOST = 6;   // rows: no draft, the shapes that were used, and the best others

const key = (levels, nodes) => `${levels}.${nodes}`;
const finite = (x) => Number.isFinite(x) && x >= 0;

// What came of each shape: key -> {levels, nodes, rounds, tokens, seconds}. The prompt's own round is left out.
export function cameOf(trace) {
  const by = new Map();
  let before = trace.rounds[0]?.elapsed_s ?? 0;
  for (const round of trace.rounds.slice(1)) {
    const nodes = round.drafted.length, levels = nodes ? 1 + Math.max(...depths(round)) : 0;
    const seen = by.get(key(levels, nodes)) ?? { levels, nodes, rounds: 0, tokens: 0, seconds: 0 };
    seen.rounds += 1;
    seen.tokens += round.emitted.length;
    seen.seconds += Math.max(0, round.elapsed_s - before);
    before = round.elapsed_s;
    by.set(key(levels, nodes), seen);
  }
  return by;
}

// The rows of the table, best expectation first: {levels, nodes, expected: {tokens, seconds, rate} or null, came or null}.
export function shapeRows(trace) {
  const listed = Array.isArray(trace.run?.expected) ? trace.run.expected : [], came = cameOf(trace);
  const rows = listed
    .filter((e) => e && finite(e.levels) && finite(e.nodes) && finite(e.tokens) && e.seconds > 0)
    .map((e) => ({ levels: e.levels, nodes: e.nodes, expected: { tokens: e.tokens, seconds: e.seconds, rate: e.tokens / e.seconds },
      came: came.get(key(e.levels, e.nodes)) ?? null }))
    .sort((a, b) => b.expected.rate - a.expected.rate);
  const used = [...rows].sort((a, b) => (b.came?.rounds ?? 0) - (a.came?.rounds ?? 0)).filter((r) => r.came).slice(0, MOST - 2);
  const keep = new Set([...rows.filter((r) => !r.levels), ...used, ...rows].slice(0, MOST));
  return rows.filter((r) => keep.has(r));
}

export function createShapePanel(words) {
  const w = words.shape, sentence = el("p", { class: "ss-say" }), table = el("table", { class: "ss-tunetable" });
  const root = el("section", { class: "ss-panel" },
    el("h2", { text: w.title }),
    prose(words.glossary, w.lead, "ss-lead"),
    sentence,
    el("div", { class: "ss-tablescroll", tabindex: "0", role: "group", "aria-label": w.title }, table),
  );
  const cells = (r) => [w.shape(r), w.tokens(r.expected.tokens), words.ms(r.expected.seconds), w.rate(r.expected.rate),
    ...(r.came ? [String(r.came.rounds), w.tokens(r.came.tokens / r.came.rounds), words.ms(r.came.seconds / r.came.rounds)] : ["–", "–", "–"])];
  function draw(trace) {
    const rows = trace ? shapeRows(trace) : [];
    root.hidden = !rows.length;
    if (root.hidden) return;
    const [best] = rows, none = rows.find((r) => !r.levels);
    say(sentence, none ? w.sentence(best, best.expected.rate / none.expected.rate) : "");
    fillTable(table, { caption: w.title, head: w.head, rows: rows.map(cells) });
  }
  return { root, draw };
}
