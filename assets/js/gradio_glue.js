// The thin seam to Gradio: the component's value is the NDJSON text; nothing here calls the server.
import { say } from "./dom.js";
import { mount } from "./player.js";
import { EN } from "./words_en.js";

let plotly = null;

// A run begins: bring the player into view where it is below the controls or above them (phones).
export function started() {
  const player = document.getElementById("player"), box = player?.getBoundingClientRect();
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
  if (box && (box.top < -80 || box.top > window.innerHeight * 0.6)) player.scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

// Plotly comes late and from our own server: first paint does not wait for its megabytes.
function loadPlotly(path) {
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

export function gradioPlayer(element, props, watch) {
  document.documentElement.classList.add("ss-host");
  const path = typeof props.plotly === "string" ? encodeURI(props.plotly) : "";
  const root = element.querySelector(".ss-mount");
  const player = mount(root, { ndjson: props.value ?? "", loadPlotly: path ? () => loadPlotly(path) : null });
  watch("value", () => player.update(props.value ?? ""));
  new MutationObserver(() => player.recolour()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  (window.Specscope.players ||= []).push(player);
  return player;
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
      say(box, EN.queue(Number(place[1]), Number(place[2])));
      box.dataset.kind = "busy";
      box.hidden = false;
    } else if (said) draw();
    said = Boolean(place);
  }).observe(block, { subtree: true, childList: true, characterData: true });
}
