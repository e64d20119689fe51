// The seam between Gradio and the lesson: recordings in, nothing out. Progress lives in the address.
import { address, language, loadPlotly, onLanguage, openAddress, present, toControls } from "./gradio.js";
import { mountLesson } from "../lesson/tab.js";
import { wordsFor } from "../words/languages.js";
import { openTab } from "../page/tabs.js";

export function gradioLesson(element, props) {
  openAddress();
  const root = element.querySelector(".ss-mount"), path = typeof props.plotly === "string" ? encodeURI(props.plotly) : "", start = address.read();
  const make = (words, n, done, answers = null) =>
    mountLesson(root, {
      runs: props.runs,
      words: words.lesson,
      playerWords: words.player,
      loadPlotly: path ? () => loadPlotly(path) : null,
      start: n,
      done,
      answers,
      present,
      own: () => {
        openTab("watch");
        window.scrollTo({ top: 0 });
        setTimeout(toControls, 200);
      }, // once the tab stands
      onProgress: (p) => {
        if (root.offsetParent !== null) address.set({ ...p, done: p.done || null });
      },
    });
  let lesson = make(wordsFor(language()), start.lesson ?? 1, start.done ?? 0);
  const look = () => { if (root.offsetParent !== null) lesson.seen(); };
  new ResizeObserver(look).observe(root);
  look();
  onLanguage((words) => { const { n, mask, answers } = lesson; lesson.destroy(); lesson = make(words, n, mask, answers); look(); });
  return lesson;
}
