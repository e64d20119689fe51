// What `specscope tune` has measured of a method's settings: for self-speculative drafting, by the layer of the exit and by the layers left out.
import { el } from "../page/dom.js";
import { oneLine, visible } from "../page/glyphs.js";
import { fixed, percent, ratio } from "../page/numbers.js";
import { caption, tableHead } from "../page/table.js";
import { finite } from "../trace/trace.js";

const first = (text) => Number(/\d+(\.\d+)?/.exec(text)?.[0] ?? 0);

// Pure: the rows of a report that have the right shape: exits in the order of their layers, left-out layers by their speed-up, and the best.
export function tuneRows(report) {
  const rows = (Array.isArray(report?.rows) ? report.rows : [])
    .map((r) => ({
      exit: typeof r?.exit_layer === "string" ? r.exit_layer : null,
      skip: typeof r?.skip_layers === "string" ? r.skip_layers : null,
      ratio: finite(r?.ratio),
      agreement: finite(r?.agreement),
      perRound: finite(r?.tokens_per_round),
    }))
    .filter((r) => (r.exit !== null) !== (r.skip !== null) && r.ratio !== null && r.agreement !== null && r.perRound !== null);
  const exits = rows.filter((r) => r.exit !== null).sort((a, b) => first(a.exit) - first(b.exit));
  const skips = rows.filter((r) => r.skip !== null).sort((a, b) => b.ratio - a.ratio);
  return { exits, skips, best: rows.reduce((best, r) => (!best || r.ratio > best.ratio ? r : best), null) };
}

// Null where the report has no usable row.
export function createTune(words, report) {
  const w = words.tune, { exits, skips, best } = tuneRows(report);
  if (!best) return null;
  const name = (r) => (r.exit !== null ? w.exit(visible(r.exit)) : w.skip(visible(r.skip)));
  const row = (r) =>
    el("tr", { "data-best": r === best ? "yes" : null, "data-slow": r.ratio < 1 ? "yes" : "no" },
      el("th", { scope: "row", text: visible(r.exit ?? r.skip) }),
      ...[percent(r.agreement), fixed(r.perRound, 2), ratio(r.ratio)].map((text) => el("td", { text })),
    );
  const table = (rows, head) =>
    el("table", { class: "ss-tunetable" }, caption(w.title), tableHead([head, ...w.head]), el("tbody", {}, ...rows.map(row)));
  const more = () => el("details", { class: "ss-tableview" }, el("summary", { text: w.more(skips.length) }), table(skips, w.skipHead));
  return el("div", { class: "ss-tune" },
    el("p", { text: w.best(name(best), best.ratio) }),
    exits.length > 0 && table(exits, w.exitHead),
    skips.length > 0 && more(),
    el("p", { class: "ss-sub", text: w.from(oneLine(String(report.target ?? ""), 60), report.prompts, report.new_tokens) }),
  );
}
