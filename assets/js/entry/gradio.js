// The thin seam to Gradio: the component's value is the NDJSON text; nothing here calls the server.
import { players } from "../page/players.js";
import { say } from "../page/dom.js";
import { mount } from "../watch/player.js";
import { langOf, speakIn, wordsFor } from "../words/languages.js";
import { addLeave, presenting, setPresent, watchPresent } from "../page/present.js";
import { cleanDetails, createSettings } from "../watch/settings.js";
import { openTab } from "../page/tabs.js";
import { createAddress } from "../page/address.js";
import { keepHints } from "../watch/hints.js";
import { createChooser, settingsOf } from "../watch/recordings.js";

let plotly = null;

let decoding = false;   // from Run (or a branch) to its end or Stop
export function ended() { decoding = false; }
export const running = () => decoding;
// A run begins: bring its text into view where it is below the controls or above them (phones).
export function started() {
  decoding = true;
  const player = document.querySelector("#player .ss-body:not([hidden])") ?? document.getElementById("player"), box = player?.getBoundingClientRect();
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  if (box && (box.top < -80 || box.top > window.innerHeight * 0.6)) player.scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

// To the prompt, ready to be written anew: where controls lie below the player (phones), the way there is long.
export function toControls() {
  const box = document.querySelector("#prompt textarea");
  box?.scrollIntoView({ block: "center" });
  box?.focus({ preventScroll: true });
  box?.select();
}

// Plotly comes late and from our own server: first paint does not wait for its megabytes.
export function loadPlotly(path) {
  plotly ||= new Promise((resolve, reject) => {
    const root = (window.gradio_config?.root || new URL(".", document.baseURI).href).replace(/\/$/, "");
    const script = document.createElement("script");
    script.src = `${root}/gradio_api/file=${path}`;
    script.async = true;
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly")));
    script.onerror = reject;
    const add = () => document.head.append(script);
    const idle = () => (window.requestIdleCallback ? window.requestIdleCallback(add, { timeout: 1500 }) : setTimeout(add, 200));
    requestAnimationFrame(() => setTimeout(idle, 50));
  });
  return plotly;
}

// What is drawn in words: each is told when the language changes.
const speakers = [];
let lang = null;
export const address = createAddress();
export function language() {
  if (lang === null) speakIn(lang = langOf(address.read().lang ?? browsers()));
  return lang;
}
// What a browser of this language opens in where the address says nothing.
const browsers = () => langOf(String(navigator.language ?? "").split("-")[0].toLowerCase());
export function onLanguage(act) { speakers.push(act); }
export function setLanguage(code) {
  speakIn(lang = langOf(code));
  document.documentElement.lang = lang;
  address.set({ lang: lang === browsers() ? null : lang });
  for (const act of speakers) act(wordsFor(lang));
}
// A link says its language, where it is not English: its reader's browser may have another.
function copied() {
  if (lang !== "en") address.set({ lang });
  return address.flush();
}
export function setTab(name) { address.set({ tab: name === "watch" ? null : name }); }
export function toggleTheme() {
  const dark = document.body.classList.toggle("dark");
  address.set({ theme: dark ? "dark" : "light" });
}

const presentChanged = (on) => address.set({ view: on ? "present" : null });
export const present = () => setPresent(!presenting(), presentChanged);
// The server opens the tab that the address names. On a busy machine its word can come before the tabs are there and is lost: then say it again,
// until it stands or the reader has pressed something.
function insist(id) {
  let left = 30;
  const timer = setInterval(() => {
    const tab = document.querySelector(`.ss-tabs [role=tab][data-tab-id="${id}"]`);
    if (tab?.getAttribute("aria-selected") === "true" || (left -= 1) < 0) clearInterval(timer);
    else if (left < 26) tab?.click();
  }, 500);
  document.addEventListener("click", (e) => { if (e.isTrusted) clearInterval(timer); }, { capture: true });
}

let opened = false;
// Once: what of the address belongs to no component.
export function openAddress() {
  if (opened) return;
  opened = true;
  document.documentElement.classList.add("ss-host");
  document.documentElement.lang = language();
  const leave = addLeave(presentChanged), name = () => {
    document.getElementById("theme")?.setAttribute("aria-label", wordsFor(language()).player.share.theme.label);
    leave(wordsFor(language()).player.share.leave);
  };
  name();
  // A tab that was clicked keeps the keyboard's focus, and the arrow keys with it: they belong to what the tab shows.
  document.addEventListener("click", (e) => { const tab = e.detail > 0 && e.target.closest?.(".ss-tabs [role=tab]"); if (tab) tab.blur(); });
  onLanguage(name);
  const { view, tab } = address.read();
  if (tab && tab !== "watch") insist(tab);
  if (view) setPresent(true);
  watchPresent(presentChanged);
}

// What the Watch tab's controls ask of the recordings (watch.py); set once the player is there.
let chooser = null, settingsFollow = () => {};
export const chooseRun = (example, method, prompt) => chooser?.choose(example, method, prompt) ?? [prompt, "{}"];
export const exampleOf = (prompt) => chooser?.exampleOf(prompt) ?? "";
export function panel(now) {
  settingsFollow();
  return chooser?.panel(now) ?? now;
}
const shownRun = () => players[0]?.trace;

export function gradioPlayer(element, props, watch, trigger) {
  openAddress();
  const path = typeof props.plotly === "string" ? encodeURI(props.plotly) : "", root = element.querySelector(".ss-mount"), start = address.read();
  const options = {
    loadPlotly: path ? () => loadPlotly(path) : null,
    onPlace: (place) => address.set(place),
    send: (request) => {
      started();
      trigger("submit", request);
    },
    link: copied,
    present,
    intro: { lesson: () => openTab("lesson"), own: toControls },
  };
  let quiet = true;   // opening the page and changing its language leave the controls alone
  const sync = () => trigger("select");
  options.onRun = () => { if (!quiet && player.trace.source === "recorded") sync(); };
  let player = mount(root, {
    ...options,
    ndjson: props.value ?? "",
    words: wordsFor(language()).player,
    place: start.round === null && !start.run ? null : { run: start.run, round: start.round, step: start.step },
  });
  quiet = false;
  chooser = createChooser({
    runs: props.runs,
    prompts: props.prompts ?? {},
    player: () => player,
    words: () => wordsFor(language()),
    decoding: () => decoding,
    sync,
  });
  const place = players.push(player) - 1;
  const sayHints = keepHints("method", () => wordsFor(language()).methods.hints);
  onLanguage(sayHints);
  watch("value", () => player.update(props.value ?? ""));
  onLanguage((words) => {   // drawn anew where it stood, open files and live runs included
    const { raw, at, sel } = player, open = player.whatif.root.open;
    player.destroy();
    quiet = true;
    player = players[place] = mount(root, { ...options, ndjson: raw, words: words.player });
    quiet = false;
    if (player.steps.length) { player.go(at); player.select(sel); }
    player.whatif.root.open = open;
  });
  new MutationObserver(() => player.recolour()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  return player;
}

// A method's own settings; the value that goes back holds only what was changed.
export function gradioSettings(element, props, watch) {
  const parse = () => { try { return JSON.parse(props.value || "{}") ?? {}; } catch { return {}; } };
  let own = null, { details, method } = parse(), given = {};
  const view = createSettings(element.querySelector(".ss-mount"), wordsFor(language()).player, (next) => {
    given = next;
    own = JSON.stringify({ details, given });
    props.value = own;
  });
  const show = () => {
    if (props.value === own) return;   // our own writing comes back
    details = parse().details;
    method = parse().method;
    follow();
  };
  // As the recording on screen was made, where it is one of this method; else as is usual.
  function follow() {
    const trace = shownRun();
    given = trace?.source === "recorded" ? settingsOf(trace.run, method, cleanDetails(details)) : {};
    own = JSON.stringify({ details, given });
    if (Object.keys(given).length) props.value = own;
    view.show(details, given);
  }
  settingsFollow = follow;
  view.show(details);
  watch("value", show);
  onLanguage((words) => view.say(words.player));
}

// One sentence for the visitor, as text. Value: {"kind": "info|busy|error", "text": "..."} in JSON.
export function gradioNotice(element, props, watch) {
  const box = element.querySelector(".ss-notice");
  const draw = () => {
    let v = {};
    try { v = JSON.parse(props.value || "{}") ?? {}; } catch { v = {}; }
    box.textContent = typeof v.text === "string" ? v.text : "";
    box.dataset.kind = v.kind === "error" || v.kind === "busy" ? v.kind : "info";
    box.setAttribute("role", v.kind === "error" ? "alert" : "status");
    box.hidden = !box.textContent;
  };
  watch("value", draw);
  draw();
  sayQueue(element, box, draw);
}

// Gradio writes "queue: 2/3" into a corner of the component; say it in words where the visitor looks.
// Its own text stays visible should it ever read differently.
function sayQueue(element, box, draw) {
  const block = element.closest(".block");
  if (!block) return;
  let said = false;
  new MutationObserver(() => {
    const place = /queue:\s*(\d+)\s*\/\s*(\d+)/.exec(block.querySelector('[data-testid="status-tracker"]')?.textContent ?? "");
    block.classList.toggle("ss-said", Boolean(place) || !block.querySelector(".progress-text")?.textContent.includes("queue"));
    if (place) {
      say(box, wordsFor(language()).player.queue(Number(place[1]), Number(place[2])));
      box.dataset.kind = "busy";
      box.hidden = false;
    } else if (said) draw();
    said = Boolean(place);
  }).observe(block, { subtree: true, childList: true, characterData: true });
}
