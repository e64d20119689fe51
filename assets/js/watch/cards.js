// A round as a row of cards, in the order in which the verdicts fall; the chosen card owns the picture below.
import { arrange, el, rove, say, set } from "../page/dom.js";
import { visible, short } from "../page/glyphs.js";
import { prob } from "../page/numbers.js";
import { cardOrder, draftStates, isListed, offered, settleIndex } from "../trace/steps.js";

const CLASS = { hidden: "hidden", pending: "pending", lit: "lit" };

export function createCards(words, onSelect) {
  const root = el("div", { class: "ss-cards", role: "group", "aria-label": words.aria.cards });
  const pool = [];   // a step changes cards, it does not make new ones: what is thrown away must be collected, at the price of a frame
  let key = "";
  rove(root, ".ss-card");
  const choose = (e) => {
    const card = e.target.closest?.(".ss-card");
    if (card && !card.disabled) onSelect(card.dataset.i === "end" ? "end" : Number(card.dataset.i));
  };
  root.addEventListener("click", choose);
  root.addEventListener("focusin", (e) => { if (e.target.matches(":focus-visible")) choose(e); });
  root.addEventListener("mouseover", choose);

  function blank() {
    const code = el("code", { dir: "auto" }), pq = el("span", { class: "ss-pq" }), b = el("b"), more = document.createTextNode("");
    return { node: el("button", { type: "button", class: "ss-card" }, code, pq, el("span", { class: "ss-verdict" }, b, more)), code, pq, b, more };
  }

  function fill(card, { i, kind, text, line, verdict, why, label, selected }) {
    const hidden = kind === "hidden";
    set(card.node, {
      "data-kind": kind,
      "data-i": i,
      tabindex: selected ? "0" : "-1",
      "aria-pressed": selected ? "true" : "false",
      "aria-label": label,
      disabled: hidden,
    });
    set(card.code, { title: hidden ? null : visible(text).slice(0, 400) });
    say(card.code, hidden ? "\u00a0" : short(text, 26));
    say(card.pq, line);
    say(card.b, `${words.mark[kind]} ${verdict}`.trim());
    say(card.more, why ? ` ${why}` : "");
  }

  function draw({ trace, step, sel }) {
    const round = trace.rounds[step.r];
    const now = `${step.r}/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}/${sel}/${trace.rounds.length}`;
    if (now === key) return;
    const focused = root.contains(document.activeElement);
    key = now;
    const states = draftStates(round, step), greedy = round.drafted[0]?.u === null;
    const cards = cardOrder(round).map((i) => {
      const d = round.drafted[i], state = CLASS[states[i]] ?? d.verdict;
      const [verdict, why] = state === "hidden" ? ["", ""] : words.cardVerdict(d, state);
      const p = `p ${state === "pending" ? "?" : prob(d.p)}`;
      const line = state === "hidden" ? "" : isListed(offered(round, d.parent)) ? p : `q ${prob(d.q)} · ${p}`;
      const label = ["hidden", "pending", "lit"].includes(state) ? `${short(d.text, 40)}: ${words.kind[state]}` : words.tokenLabel(d.text, state, d);
      return { i, kind: state, text: d.text, line, verdict, why, label, selected: sel === i };
    });
    const j = settleIndex(round);
    if (j >= 0) {
      const e = round.emitted[j], here = step.phase === "settle";
      const [verdict, why] = words.settled(e.kind, greedy);
      cards.push({
        i: "end",
        kind: here ? e.kind : "hidden",
        text: e.text,
        line: here ? why : "",
        verdict: here ? verdict : "",
        why: "",
        label: here ? words.tokenLabel(e.text, e.kind, null, why) : words.kind.hidden,
        selected: sel === "end",
      });
    }
    while (pool.length < cards.length) pool.push(blank());
    cards.forEach((c, k) => fill(pool[k], c));
    arrange(root, ...pool.slice(0, cards.length).map((c) => c.node));
    if (focused) root.querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
    else if (!root.querySelector('[tabindex="0"]')) root.querySelector(".ss-card:not([disabled])")?.setAttribute("tabindex", "0");
  }
  return { root, draw, reset() { key = ""; } };
}
