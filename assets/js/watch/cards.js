// A round as a row of cards, in the order in which its tokens are tested; the picture below belongs to the chosen card.
import { arrange, el, rove, say, set } from "../page/dom.js";
import { visible, short } from "../page/glyphs.js";
import { prob } from "../page/numbers.js";
import { cardOrder, decider, draftStates, isListed, offered, settleIndex } from "../trace/steps.js";

const OPEN = ["hidden", "pending", "lit"];   // the states of a token before its acceptance is known

const forcedCard = (text, words) => ({ forced: true, outcome: words.kind.forced, why: words.forcedWhy, label: words.forcedLabel(text) });

// The card of the drafted token i, in its state.
function draftCard(round, i, state, words) {
  const d = round.drafted[i], p = `p ${state === "pending" ? "?" : prob(d.p)}`;
  const [outcome, why] = state === "hidden" ? ["", ""] : words.cardAcceptance(d, state);
  const line = state === "hidden" ? "" : isListed(offered(round, d.parent)) ? p : `q ${prob(d.q)} · ${p}`;
  const label = OPEN.includes(state) ? `${short(d.text, 40)}: ${words.kind[state]}` : words.tokenLabel(d.text, state, d);
  if (d.forced && state !== "hidden") return { i, kind: state, text: d.text, line, ...forcedCard(d.text, words) };
  return { i, kind: state, text: d.text, line, outcome, why, label };
}

// The card of the token that closes the round; hidden until it is there.
function closingCard(round, { text, kind, forced }, here, words) {
  if (!here) return { i: "end", kind: "hidden", text, line: "", outcome: "", why: "", label: words.kind.hidden };
  if (forced) return { i: "end", kind, text, line: "", ...forcedCard(text, words) };
  const [outcome, why] = words.settled(kind, decider(round));
  return { i: "end", kind, text, line: why, outcome, why: "", label: words.tokenLabel(text, kind, null, why) };
}

function cardsOf(round, step, words) {
  const states = draftStates(round, step), closing = round.emitted[settleIndex(round)];
  const cards = cardOrder(round).map((i) => draftCard(round, i, states[i], words));
  return closing ? [...cards, closingCard(round, closing, step.phase === "settle", words)] : cards;
}

// select(i): a card was chosen; i is the index of its drafted token, or "end".
export function createCards(words, select) {
  const root = el("div", { class: "ss-cards", role: "group", "aria-label": words.aria.cards });
  const pool = [];   // cards are changed at a step, not made anew: nodes that are thrown away must be collected, and that costs frames
  let key = "";
  rove(root, ".ss-card");
  const choose = (e) => {
    const card = e.target.closest?.(".ss-card");
    if (card && !card.disabled) select(card.dataset.i === "end" ? "end" : Number(card.dataset.i));
  };
  root.addEventListener("click", choose);
  root.addEventListener("focusin", (e) => { if (e.target.matches(":focus-visible")) choose(e); });
  root.addEventListener("mouseover", choose);

  function blank() {
    const code = el("code", { dir: "auto" }), pq = el("span", { class: "ss-pq" }), b = el("b"), more = document.createTextNode("");
    const node = el("button", { type: "button", class: "ss-card" }, code, pq, el("span", { class: "ss-acceptance" }, b, more));
    return { node, code, pq, b, more };
  }

  function fill(card, { i, kind, text, line, outcome, why, label, forced }, selected) {
    const hidden = kind === "hidden";
    set(card.node, {
      "data-kind": kind,
      "data-i": i,
      "data-forced": forced ? "" : null,
      tabindex: selected ? "0" : "-1",
      "aria-pressed": selected ? "true" : "false",
      "aria-label": label,
      disabled: hidden,
    });
    set(card.code, { title: hidden ? null : visible(text).slice(0, 400) });
    say(card.code, hidden ? "\u00a0" : short(text, 26));
    say(card.pq, line);
    say(card.b, `${forced ? words.mark.forced : words.mark[kind]} ${outcome}`.trim());
    say(card.more, why ? ` ${why}` : "");
  }

  function draw({ trace, step, sel }) {
    const round = trace.rounds[step.r];
    const now = `${step.r}/${step.phase}/${step.drafted ?? ""}/${step.fallen ?? ""}/${sel}/${trace.rounds.length}`;
    if (now === key) return;
    const focused = root.contains(document.activeElement);
    key = now;
    const cards = cardsOf(round, step, words);
    while (pool.length < cards.length) pool.push(blank());
    cards.forEach((c, k) => fill(pool[k], c, sel === c.i));
    arrange(root, ...pool.slice(0, cards.length).map((c) => c.node));
    if (focused) root.querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
    else if (!root.querySelector('[tabindex="0"]')) root.querySelector(".ss-card:not([disabled])")?.setAttribute("tabindex", "0");
  }
  return { root, draw, reset() { key = ""; } };
}
