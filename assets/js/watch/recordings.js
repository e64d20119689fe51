// The recordings of the Watch tab: a chip shows its recording, and the controls say what the recording that is shown was made with.
import { plainText } from "../page/glossary.js";
import { cleanRuns, runText } from "../trace/runs.js";
import { lower } from "../page/numbers.js";
import { finite } from "../trace/trace.js";

// Pure: the recording of this example with this method, or null.
export const entryFor = (runs, example, method) => runs.find((r) => r.example === example && r.method === method) ?? null;

// Pure: what the controls should say for a recording, in the order of PANEL in spec_ui/tabs/. Null: the control stays as it is.
export function panelOf(trace, runs, prompts) {
  const r = trace.run ?? {};
  const s = r.sampling ?? {};
  const entry = runs.find((e) => e.name === trace.name);
  const text = (x) => (typeof x === "string" && x ? x : null);
  const length = Number.isInteger(r.draft_len) && r.draft_len > 0 ? r.draft_len : null;
  return [
    text(r.prompt),
    entry && Object.hasOwn(prompts, entry.example) ? entry.example : "",
    text(r.method),
    length,
    r.draft_len === "auto" ? true : length === null ? null : false,
    finite(s.temperature),
    finite(s.top_p),
    finite(r.max_new_tokens),
    finite(r.seed),
    grammarText(r.grammar),
  ];
}

// Pure: a run's grammar as the field for it has it; "" for a run without one.
export function grammarText(grammar) {
  const { kind, value } = grammar ?? {};
  if (kind === "regex" && typeof value === "string") return `/${value}/`;
  if (kind === "choice" && Array.isArray(value)) return value.join(", ");
  return kind === "json_schema" && value && typeof value === "object" ? JSON.stringify(value) : "";
}

// Pure: the settings of its method that a recording was made with, where they differ from their defaults.
export const settingsOf = (run, method, details) =>
  Object.fromEntries(
    details
      .filter((d) => run?.method === method && Object.hasOwn(run.settings ?? {}, d.name) && run.settings[d.name] !== d.default)
      .map((d) => [d.name, run.settings[d.name]]),
  );

// What a method proposes, with its name before it.
function methodSentence(method, words) {
  const what = plainText(words.cards[method]?.proposes ?? "");
  return what ? `${words.names[method] ?? method}: ${lower(what)}` : "";
}

// player(): the one in the Watch tab. words(): in the page's language now. decoding(): whether a live run is in progress. sync(): makes the
// controls follow the recording that is shown.
export function createChooser({ runs, prompts, player, words, decoding, sync }) {
  const all = cleanRuns(runs);
  let turn = 0;

  // Shows the recording of an entry, unless another chip was pressed meanwhile. Returns what to say.
  async function show(entry, said) {
    const mine = turn;
    try {
      const text = await runText(entry);
      if (mine !== turn || decoding()) return said.shown;
      if (player().raw === text) sync();
      else player().update(text);
      return said.shown;
    } catch {
      return said.failed;
    }
  }
  return {
    // A chip was pressed -> [prompt, notice, form of the output] for the page. A live run or an opened file stays: then the chip only changes
    // what Run will do.
    async choose(example, method, prompt, grammar = "") {
      turn += 1;
      const said = words().player.recordings, entry = entryFor(all, example, method), shown = player().trace;
      const known = all.find((r) => r.example === example), form = known ? grammarText(known.grammar) : grammar;
      const asked = Object.hasOwn(prompts, example ?? "") ? prompts[example] : prompt;
      const others = decoding() || (shown.run && shown.source !== "recorded");
      const text = others ? said.live : entry ? await show(entry, said) : example ? said.none : said.live;
      const notice = { kind: "info", text: [text, methodSentence(method, words().methods)].filter(Boolean).join(" ") };
      return [asked, JSON.stringify(notice), form];
    },
    // The example that has this prompt, first of all that of the recording that is shown; "" for a prompt of the reader's own.
    exampleOf(prompt) {
      const { run, name } = player().trace, shown = run?.prompt === prompt ? all.find((r) => r.name === name)?.example : null;
      return shown ?? Object.keys(prompts).find((key) => prompts[key] === prompt) ?? "";
    },
    // What the controls say -> what they should say for the recording that is shown.
    panel: (now) => panelOf(player().trace, all, prompts).map((x, i) => x ?? now[i]),
  };
}
