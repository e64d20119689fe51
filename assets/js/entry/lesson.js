// Connects Gradio with the lesson: recordings go in, nothing comes out. The reader's progress is in the address.
import { openTab } from "../page/tabs.js";
import { mountLesson } from "../lesson/tab.js";
import { address, present } from "./address.js";
import { onLanguage, openPage, words } from "./language.js";
import { plotlyLoader } from "./plotly.js";
import { toControls } from "./watch.js";

function toOwnPrompt() {
  openTab("watch");
  window.scrollTo({ top: 0 });
  setTimeout(toControls, 200);   // once the tab is open
}

export function gradioLesson(element, props) {
  openPage();
  const root = element.querySelector(".ss-mount"), loadPlotly = plotlyLoader(props), start = address.read();
  const onProgress = ({ lesson: n, done }) => { if (root.offsetParent !== null) address.set({ lesson: n, done: done || null }); };
  const make = (n, done, answers = null) => {
    const { lesson: lessonWords, player: playerWords } = words();
    return mountLesson(root, {
      runs: props.runs, words: lessonWords, playerWords, loadPlotly, start: n, done, answers, present, own: toOwnPrompt, onProgress,
    });
  };
  let lesson = make(start.lesson ?? 1, start.done ?? 0);
  const look = () => { if (root.offsetParent !== null) lesson.seen(); };
  new ResizeObserver(look).observe(root);
  look();
  onLanguage(() => {
    const { n, mask, answers } = lesson;
    lesson.destroy();
    lesson = make(n, mask, answers);
    look();
  });
}
