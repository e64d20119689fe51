// One sentence for the visitor, as text. Its value is JSON: {"kind": "info|busy|error", "text": "..."}.
import { say } from "../page/dom.js";
import { parseJson } from "../trace/trace.js";
import { words } from "./language.js";

export function gradioNotice(element, props, watch) {
  const box = element.querySelector(".ss-notice");
  const draw = () => {
    const { kind, text } = parseJson(props.value || "{}") ?? {};
    box.textContent = typeof text === "string" ? text : "";
    box.dataset.kind = kind === "error" || kind === "busy" ? kind : "info";
    box.setAttribute("role", kind === "error" ? "alert" : "status");
    box.hidden = !box.textContent;
  };
  watch("value", draw);
  draw();
  sayQueue(element, box, draw);
}

// Gradio writes "queue: 2/3" into a corner of the component. It is said in words here instead; should Gradio ever write it in another form,
// its own text stays visible. draw(): the notice as it was.
function sayQueue(element, box, draw) {
  const block = element.closest(".block");
  if (!block) return;
  let said = false;
  new MutationObserver(() => {
    const place = /queue:\s*(\d+)\s*\/\s*(\d+)/.exec(block.querySelector('[data-testid="status-tracker"]')?.textContent ?? "");
    block.classList.toggle("ss-said", Boolean(place) || !block.querySelector(".progress-text")?.textContent.includes("queue"));
    if (place) {
      say(box, words().player.queue(Number(place[1]), Number(place[2])));
      box.dataset.kind = "busy";
      box.hidden = false;
    } else if (said) draw();
    said = Boolean(place);
  }).observe(block, { subtree: true, childList: true, characterData: true });
}
