// A live branch: choose another token of this position's table, or edit the text so far, and let the model continue from there.
import { el, say } from "../page/dom.js";
import { short } from "../page/glyphs.js";
import { prob } from "../page/numbers.js";
import { pathTo } from "../trace/steps.js";
import { isCoupled } from "../trace/trace.js";

const MOST_CHARS = 4000;
const MOST_IDS = 512;

// Pure: the tokens of the output before a table's position.
export const outputBefore = (trace, r, after) => [...trace.rounds.slice(0, r).flatMap((x) => x.emitted), ...pathTo(trace.rounds[r], after)];

// Pure: what the server is asked for. With `forced` the output so far goes as ids, the forced token last; with `text` as that text.
// shown: the output so far, as the reader sees it.
export function branchRequest(trace, r, after, { forced = null, text = null } = {}) {
  const ids = trace.run?.prompt_ids;
  const base = trace.branch?.base ?? (Array.isArray(ids) ? ids.length : 0);
  const given = Array.isArray(ids) ? ids.slice(base) : [];
  const before = outputBefore(trace, r, after), prompt = typeof trace.run?.prompt === "string" ? trace.run.prompt : null;
  const shown = (trace.branch?.text ?? "") + before.map((t) => t.text).join("");
  const how = isCoupled(trace) ? { verify: "coupled" } : {};   // a branch throws the same dice as its run
  if (text !== null) return { prompt, base, after_ids: [], after_text: text, shown: text, ...how };
  return {
    prompt,
    base,
    ...how,
    after_ids: [...given, ...before.map((t) => t.id), ...(forced ? [forced.id] : [])],
    after_text: "",
    shown: shown + (forced ? forced.text : ""),
  };
}

// Pure: why a request cannot be sent, or null. The server checks the same again.
export function tooMuch(request, words) {
  if (request.after_text.length > MOST_CHARS) return words.tooLong(request.after_text.length, MOST_CHARS);
  if (request.after_ids.length > MOST_IDS) return words.tooMany(request.after_ids.length, MOST_IDS);
  return null;
}

export function createBranch(words, send) {
  const choice = el("select", { class: "ss-force", "aria-label": words.force }), note = el("p", { class: "ss-note", role: "status" });
  const text = el("textarea", { class: "ss-sofartext", rows: "3", dir: "auto", "aria-label": words.edit, maxlength: MOST_CHARS });
  const go = (label, act) => el("button", { type: "button", class: "ss-btn ss-wide", text: label, onclick: act });
  const root = el("section", { class: "ss-wbranch" },
    el("h3", { text: words.title }),
    el("p", { class: "ss-sub", text: words.lead }),
    send &&
      el("div", { class: "ss-branchgrid" },
        el("div", {},
          el("label", { class: "ss-label" }, words.force, choice),
          go(words.go, () => submit("force")),
        ),
        el("div", {},
          el("label", { class: "ss-label" }, words.edit, text),
          go(words.goText, () => submit("text")),
        ),
      ),
    note,
  );
  let place = null, shown = "";

  function submit(how) {
    if (!place) return;
    const { trace, r, table } = place, k = Number(choice.value);
    const request =
      how === "text"
        ? branchRequest(trace, r, table.after, { text: text.value })
        : branchRequest(trace, r, table.after, { forced: { id: table.ids[k], text: table.texts[k] } });
    const refusal = tooMuch(request, words);
    say(note, refusal ?? "");
    if (!refusal) send(request);
  }
  function draw(trace, r, table) {
    place = table ? { trace, r, table } : null;
    root.hidden = !table || !send;
    if (!table || !send) return;
    choice.replaceChildren(
      ...table.ids
        .map((_, k) => k)
        .sort((a, b) => (table.p?.[b] ?? 0) - (table.p?.[a] ?? 0))
        .map((k) => el("option", { value: k, text: `${short(table.texts[k], 24)}  p ${prob(table.p?.[k])}` })),
    );
    const next = branchRequest(trace, r, table.after).shown;
    if (text.value === shown || document.activeElement !== text) text.value = shown = next.slice(-MOST_CHARS);
  }
  return { root, draw };
}
