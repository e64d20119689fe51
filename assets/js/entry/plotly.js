// Plotly is large: it is fetched after the page has been drawn, once, and from our own server.
import { servedFile } from "../page/served.js";

let plotly = null;

function fetchScript(path) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = servedFile(path);
    script.async = true;
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly")));
    script.onerror = reject;
    const add = () => document.head.append(script);
    const whenIdle = () => (window.requestIdleCallback ? window.requestIdleCallback(add, { timeout: 1500 }) : setTimeout(add, 200));
    requestAnimationFrame(() => setTimeout(whenIdle, 50));
  });
}

// props: of a component; `plotly` is the path of its file. () => a promise of Plotly, or null where the path is unknown.
export function plotlyLoader(props) {
  if (typeof props.plotly !== "string" || !props.plotly) return null;
  return () => (plotly ||= fetchScript(encodeURI(props.plotly)));
}
