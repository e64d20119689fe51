// The Watch tab's recordings: a chip shows the recording it stands for, and the controls say what the recording on screen was made with.
import { plainText } from "../page/glossary.js";
import { cleanRuns, runText } from "../trace/runs.js";
import { lower } from "../page/numbers.js";
import { finite } from "../trace/trace.js";

// Pure: the recording of this example with this method, or null.
export const entryFor = (runs, example, method) => runs.find((r) => r.example === example && r.method === method) ?? null;

// Pure: what the controls should say for a recording, in the order of PANEL (spec_ui/tabs/watch_controls.py); null: this one cannot say it, leave it.
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
  ];
}

// Pure: which of a method's own settings a recording was made with, where they are not what is usual.
export const settingsOf = (run, method, details) =>
  Object.fromEntries(
    details
      .filter((d) => run?.method === method && Object.hasOwn(run.settings ?? {}, d.name) && run.settings[d.name] !== d.default)
      .map((d) => [d.name, run.settings[d.name]]),
  );

// player(): the one in the Watch tab. words(): the page's language now. decoding(): a live run is under way. sync(): the controls follow.
export function createChooser({ runs, prompts, player, words, decoding, sync }) {
  const all = cleanRuns(runs);
  let turn = 0;
  return {
    // A chip was pressed: [prompt, notice] for the page. A live run or a file stays where it is: then the chip only changes what Run would do.
    async choose(example, method, prompt) {
      const mine = (turn += 1), said = words().player.recordings, entry = entryFor(all, example, method);
      const asked = Object.hasOwn(prompts, example ?? "") ? prompts[example] : prompt;
      const what = plainText(words().methods.cards[method]?.proposes ?? "");
      const who = what ? `${words().methods.names[method] ?? method}: ${lower(what)}` : "";
      const notice = (text) => JSON.stringify({ kind: "info", text: [text, who].filter(Boolean).join(" ") });
      const shown = player().trace;
      if (decoding() || (shown.run && shown.source !== "recorded")) return [asked, notice(said.live)];
      if (!entry) return [asked, notice(example ? said.none : said.live)];
      try {
        const text = await runText(entry);
        if (mine === turn && !decoding()) { if (player().raw === text) sync(); else player().update(text); }
        return [asked, notice(said.shown)];
      } catch {
        return [asked, notice(said.failed)];
      }
    },
    // Which example a prompt is, that of the recording on screen first: "" for one of one's own.
    exampleOf(prompt) {
      const { run, name } = player().trace, shown = run?.prompt === prompt ? all.find((r) => r.name === name)?.example : null;
      return shown ?? Object.keys(prompts).find((key) => prompts[key] === prompt) ?? "";
    },
    // What the controls say now -> what they should say for the recording on screen.
    panel: (now) => panelOf(player().trace, all, prompts).map((x, i) => x ?? now[i]),
  };
}
