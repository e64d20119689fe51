// Connects Gradio with the player of the Watch tab. The component's value is the text of a trace; nothing here calls the server.
import { players } from "../page/players.js";
import { openTab } from "../page/tabs.js";
import { mount } from "../watch/player.js";
import { keepHints } from "../watch/hints.js";
import { createChooser } from "../watch/recordings.js";
import { address, present } from "./address.js";
import { linkToShare, onLanguage, openPage, words } from "./language.js";
import { plotlyLoader } from "./plotly.js";

let decoding = false;   // from Run (or a live branch) to its end or Stop
export const running = () => decoding;
export function ended() {
  decoding = false;
}
// A run begins: its text is brought into sight where it is below the controls or above them (on phones).
export function started() {
  decoding = true;
  const player = document.querySelector("#player .ss-body:not([hidden])") ?? document.getElementById("player"), box = player?.getBoundingClientRect();
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  if (box && (box.top < -80 || box.top > window.innerHeight * 0.6)) player.scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

// To the prompt, its text selected. On phones the controls lie far below the player.
export function toControls() {
  const box = document.querySelector("#prompt textarea");
  box?.scrollIntoView({ block: "center" });
  box?.focus({ preventScroll: true });
  box?.select();
}

// What the controls of the Watch tab ask of the recordings (spec_ui/tabs); answered once the player is there.
let chooser = null, settingsFollow = () => {};
export const chooseRun = (example, method, prompt, grammar) => chooser?.choose(example, method, prompt, grammar) ?? [prompt, "{}", grammar];
export const exampleOf = (prompt) => chooser?.exampleOf(prompt) ?? "";
export function panel(now) {
  settingsFollow();
  return chooser?.panel(now) ?? now;
}
// act(): the controls follow another recording, and the settings of its method must too.
export function onPanel(act) {
  settingsFollow = act;
}

function optionsOf(props, trigger) {
  return {
    loadPlotly: plotlyLoader(props),
    onPlace: (place) => address.set(place),
    link: linkToShare,
    present,
    intro: { lesson: () => openTab("lesson"), own: toControls },
    send(request) {
      started();
      trigger("submit", request);
    },
  };
}

// Draws the player in another language where it stood, an opened file and a live run included.
function redraw(player, draw) {
  const { raw, at, sel } = player, { open } = player.whatif.root;
  player.destroy();
  const next = draw(raw);
  if (next.steps.length) {
    next.go(at);
    next.select(sel);
  }
  next.whatif.root.open = open;
}

// Components call it by js_on_load. props: of the component; watch(name, act): a property changed; trigger(event): to the server.
export function gradioPlayer(element, props, watch, trigger) {
  openPage();
  const root = element.querySelector(".ss-mount"), options = optionsOf(props, trigger), { run, round, step } = address.read();
  const index = players.length, player = () => players[index], sync = () => trigger("select");
  let quiet = true;   // opening the page and changing its language leave the controls as they are
  options.onRun = () => { if (!quiet && player().trace.source === "recorded") sync(); };
  function draw(ndjson, place = null) {
    quiet = true;
    players[index] = mount(root, { ...options, ndjson, place, words: words().player });
    quiet = false;
    return player();
  }
  draw(props.value ?? "", round === null && !run ? null : { run, round, step });
  chooser = createChooser({ runs: props.runs, prompts: props.prompts ?? {}, player, words, decoding: running, sync });
  watch("value", () => player().update(props.value ?? ""));
  onLanguage(() => redraw(player(), draw));
  onLanguage(keepHints("method", () => words().methods.hints));
  new MutationObserver(() => player().recolour()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
