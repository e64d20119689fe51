// The table of a position as rows: which tokens are listed, and for each what p and q agree on, what p has over q ("pmore") and q over p
// ("qmore").
import { finite } from "../trace/trace.js";

// drafted: id of the token drafted here, or null. drawn: id of the token then drawn here, or null. At most `limit` tokens are listed by name.
export function barRows(table, { drafted = null, drawn = null, limit = 6 } = {}) {
  const hasQ = Array.isArray(table.q);
  const all = table.ids.map((id, k) => ({
    id,
    text: table.texts[k],
    p: table.p?.[k] ?? 0,
    q: hasQ ? (table.q[k] ?? 0) : null,
    residual: table.residual ? (table.residual[k] ?? 0) : null,
    logit: table.logit_p?.[k] ?? null,
    isDrafted: id === drafted,
    isDrawn: id === drawn,
    others: false,
  }));
  const weight = (r) => Math.max(r.p, r.q ?? 0) + (r.isDrafted || r.isDrawn ? 2 : 0);
  const shown = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, limit).filter((r) => weight(r) > 0));
  const hidden = all.filter((r) => !shown.has(r));
  const sum = (key, rows) => rows.reduce((s, r) => s + (r[key] ?? 0), 0);
  const rows = all.filter((r) => shown.has(r)).map((r) => split(r, hasQ ? Math.min(r.p, r.q) : null));
  const o = table.others;
  const rest = {
    id: null,
    text: "",
    p: (o.p ?? 0) + sum("p", hidden),
    q: hasQ ? (o.q ?? 0) + sum("q", hidden) : null,
    residual: table.residual ? (o.residual ?? 0) + sum("residual", hidden) : null,
    logit: null,
    isDrafted: false,
    isDrawn: drawn !== null && !all.some((r) => r.id === drawn),
    others: true,
  };
  // The minimum of sums is not the sum of minima: the record carries the overlap of the tokens that it does not list.
  const restAgreed = hasQ ? (o.overlap ?? 0) + hidden.reduce((s, r) => s + Math.min(r.p, r.q), 0) : null;
  if (rest.p > 5e-7 || (rest.q ?? 0) > 5e-7) rows.push(split(rest, restAgreed));
  const scale = Math.max(...rows.map((r) => Math.max(r.p, r.q ?? 0, r.residual ?? 0)), 1e-9);   // one for all bars: they are compared
  return { rows, hasQ, hasResidual: Boolean(table.residual), overlap: table.overlap, scale };
}

function split(row, agreed) {
  if (agreed === null) return { ...row, agreed: row.p, pmore: 0, qmore: 0 };
  return { ...row, agreed, pmore: Math.max(0, row.p - agreed), qmore: Math.max(0, row.q - agreed) };
}

// Whether u was compared with p/q itself. It is in a chain, but not for a later sibling in a tree, nor under block verification. The numbers
// of a record are rounded.
export function byRatio(d) {
  if (d.threshold === null || !(d.q > 0)) return false;
  const rule = Math.min(1, d.p / d.q), used = Math.min(1, d.threshold);
  return Math.abs(rule - used) <= 0.002 + 0.01 * rule;
}

// Where the pin u·q stands: left of p's end exactly if the token was accepted. Null where u was compared with something else than p/q.
export const pinAt = (d) => (d && d.u !== null && d.verdict !== "not_reached" && byRatio(d) ? d.u * d.q : null);

// By how much the target's first choice leads its second, in logits; null where they are not on record.
export function logitGap(table) {
  const l = (table.logit_p ?? []).map(finite).filter((x) => x !== null).sort((a, b) => b - a);
  return l.length > 1 ? l[0] - l[1] : null;
}
