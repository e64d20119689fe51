// What the address says and what it is made to say: a recording, a round and step, language, theme, tab, view, the lesson's progress.
// Every parameter is checked and capped; what is not valid is as if it were not there. Pure functions.

export const TABS = ["watch", "lossless", "faster", "methods", "lesson"];
export const STEPS = 10;
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

// The same as a query; parameters that are not ours stay as they are.
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

// The address bar, written seldom: browsers refuse hundreds of changes in a few seconds.
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

// Which step of a list to stand at: round and step within it, capped to what there is; null if the address names no round.
export function stepFor({ round, step }, { ends }) {
  if (round === null || !ends.length) return null;
  const r = Math.min(round, ends.length - 1), first = r ? ends[r - 1] + 1 : 0;
  return step === null ? ends[r] : Math.min(first + step, ends[r]);
}

export const placeOf = (steps, ends, at) => ({ round: steps[at].r, step: at - (steps[at].r ? ends[steps[at].r - 1] + 1 : 0) });
