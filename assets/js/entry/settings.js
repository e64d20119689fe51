// Connects Gradio with the settings of a method. The value that goes back holds only those that were changed.
import { players } from "../page/players.js";
import { parseJson } from "../trace/trace.js";
import { settingsOf } from "../watch/recordings.js";
import { cleanDetails, createSettings } from "../watch/settings.js";
import { onLanguage, words } from "./language.js";
import { onPanel } from "./watch.js";

const parse = (value) => parseJson(value || "{}") ?? {};

export function gradioSettings(element, props, watch) {
  let own = null, { details, method } = parse(props.value);   // own: the value that was written here
  function write(given) {
    own = JSON.stringify({ details, given });
    props.value = own;
  }
  const view = createSettings(element.querySelector(".ss-mount"), words().player, write);

  // Another method's settings came, or our own writing came back.
  function show() {
    if (props.value === own) return;
    ({ details, method } = parse(props.value));
    follow();
  }
  // The settings that the recording on screen was made with, if it is one of this method, else the defaults.
  function follow() {
    const trace = players[0]?.trace;
    const given = trace?.source === "recorded" ? settingsOf(trace.run, method, cleanDetails(details)) : {};
    if (Object.keys(given).length) write(given);
    else own = JSON.stringify({ details, given });
    view.show(details, given);
  }
  onPanel(follow);
  view.show(details);
  watch("value", show);
  onLanguage((next) => view.say(next.player));
}
