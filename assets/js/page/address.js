// The address of the page: a recording, a round and a step, language, theme, tab, view, the lesson's progress. Every parameter is checked
// and capped; one that is not valid counts as absent.

export const TABS = ["watch", "lossless", "faster", "methods", "lesson"];
const STEPS = 10;
const NAME = /^[a-z0-9][a-z0-9+_.-]{0,59}$/i;
const whole = (text, most) => (text !== null && /^\d{1,6}$/.test(text) && Number(text) <= most ? Number(text) : null);
const one = (text, known) => (known.includes(text) ? text : null);

// "?run=chat-draft&round=5&step=2" -> {run, round, step, lang, theme, tab, view, lesson, done}; null for what is absent.
export function parseState(search, langs = ["en", "ru"]) {
  let q;
  try { q = new URLSearchParams(String(search).slice(0, 2000)); } catch { q = new URLSearchParams(); }
  const run = q.get("run"), done = q.get("done");
  return {
    run: run !== null && NAME.test(run) ? run : null,
    round: whole(q.get("round"), 100000),
    step: whole(q.get("step"), 1000),
    lang: one(q.get("lang"), langs),
    theme: one(q.get("__theme"), ["light", "dark"]),
    tab: one(q.get("tab"), TABS),
    view: one(q.get("view"), ["present"]),
    lesson: whole(q.get("lesson"), STEPS),
    done: done !== null && /^[0-9a-f]{1,4}$/i.test(done) ? parseInt(done, 16) % 2 ** STEPS : null,
  };
}

// The query with `state` written into it: null takes a parameter away, and those of others stay as they are.
export function writeState(search, state) {
  const q = new URLSearchParams(search), names = { theme: "__theme" };
  for (const [key, value] of Object.entries(state)) {
    const name = names[key] ?? key;
    if (value === null || value === undefined || value === "") q.delete(name);
    else q.set(name, key === "done" ? Number(value).toString(16) : String(value));
  }
  const text = q.toString();
  return text ? `?${text}` : "";
}

// The address bar. Changes are collected for a moment: browsers refuse hundreds of them in a few seconds.
export function createAddress(win = window) {
  let waiting = {}, timer = 0;
  const flush = () => {
    timer = 0;
    const next = writeState(win.location.search, waiting);
    waiting = {};
    if (next !== win.location.search) win.history.replaceState(win.history.state, "", `${win.location.pathname}${next}${win.location.hash}`);
  };
  return {
    read: () => parseState(win.location.search),
    set(state) {
      Object.assign(waiting, state);
      if (!timer) timer = win.setTimeout(flush, 350);
    },
    flush() {
      win.clearTimeout(timer);
      flush();
      return win.location.href;
    },
  };
}

// The index of the step that an address names by its round and the step within it, capped to what there is; null where it names no round.
// ends: the index of each round's last step.
export function stepFor({ round, step }, { ends }) {
  if (round === null || !ends.length) return null;
  const r = Math.min(round, ends.length - 1), first = r > 0 ? ends[r - 1] + 1 : 0;
  return step === null ? ends[r] : Math.min(first + step, ends[r]);
}

// The round and the step within it of the step at index `at`.
export const placeOf = (steps, ends, at) => ({ round: steps[at].r, step: at - (steps[at].r ? ends[steps[at].r - 1] + 1 : 0) });
