// What the player says of one token and of its acceptance, in English.
import { probLong } from "../../page/numbers.js";
import { short } from "../../page/glyphs.js";
import { byRatio } from "../../distributions/rows.js";
import { compared } from "../../page/printed.js";

const certain = (d) => d.p !== null && d.q !== null && d.p >= d.q;

export const TOKENS_EN = {
  kind: {
    accepted: "accepted",
    rejected: "rejected",
    not_reached: "never tested",
    recovered: "resampled",
    bonus: "bonus",
    plain: "plain",
    forced: "forced",
    pending: "pending",
    lit: "checked",
    hidden: "not drafted yet",
  },
  mark: { accepted: "✓", rejected: "✗", not_reached: "·", recovered: "↻", bonus: "★", plain: "•", forced: "▮", pending: "…", lit: "?", hidden: "" },
  legend: [["accepted", "from the draft"], ["recovered", "after a rejection"], ["bonus", "after a fully accepted draft"],
    ["rejected", ""], ["not_reached", ""], ["pending", ""], ["plain", ""], ["forced", "by the output's form"]],
  forcedWhy: "the only token that the grammar allows here",
  forcedLabel: (text) => `${short(text, 40)}: forced, the only token that the grammar allows here`,

  untested: { passed: "another token at its position was accepted", branch: "its branch was not accepted" },
  // Whether a drafted token was accepted and why, the comparison first.
  acceptance(d, chain = byRatio(d)) {
    if (d.verdict === "not_reached") return `never tested: ${d.untested ? TOKENS_EN.untested[d.untested] : "an earlier draft was rejected"}`;
    const accepted = d.verdict === "accepted";
    if (d.coupled)
      return accepted
        ? "the target's own draw with the same dice is the same token: accepted"
        : "the target's own draw with the same dice is another token: rejected";
    if (d.u === null) return accepted ? "the target's first choice is the same: accepted" : "the target's first choice is another: rejected";
    if (accepted && certain(d) && chain) return "p ≥ q: accepted whatever u is";
    return `${compared(d, chain ? "p/q" : "the acceptance probability")}: ${accepted ? "accepted" : "rejected"}`;
  },
  // The same for a card, where the numbers already have their labels.
  cardAcceptance(d, state, chain = byRatio(d)) {
    if (state === "pending") return ["pending", "waits for the target"];
    if (state === "lit") return ["checked", "p is known, to be decided"];
    if (d.verdict === "not_reached") return ["never tested", d.untested ? TOKENS_EN.untested[d.untested] : "behind a rejection"];
    const accepted = d.verdict === "accepted";
    const word = accepted ? "accepted" : "rejected";
    if (d.coupled) return [word, accepted ? "the target's draw with the same dice too" : "the target drew another with the same dice"];
    if (d.u === null) return [word, accepted ? "the target's first choice too" : "the target's first choice is another"];
    if (accepted && certain(d) && chain) return [word, "p ≥ q, whatever u is"];
    return [word, compared(d, chain ? "p/q" : "acceptance", " ")];
  },
  settled(kind, by) {
    const drawn = { first: "the target's own first choice", dice: "the target's own draw with the same dice", u: "drawn from the residual" };
    if (kind === "recovered") return ["resampled", drawn[by]];
    if (kind === "bonus")
      return ["bonus", by === "first" ? "the target's next first choice, at no cost" : "drawn from p, which the pass had computed"];
    return ["plain", "the target alone: one pass, one token"];
  },
  tokenLabel(text, kind, d, extra) {
    const name = `${short(text, 40)}: ${TOKENS_EN.kind[kind]}`;
    if (!d) return `${name}, ${extra}`;
    return `${name}. target p ${probLong(d.p)}, draft q ${probLong(d.q)}${d.u === null ? "" : `, u ${probLong(d.u)}`}; ${TOKENS_EN.acceptance(d)}`;
  },
};
