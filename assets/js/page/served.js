// The address of a file that Gradio serves (a recording, Plotly): from our own server, wherever the page is mounted.
export function servedFile(path) {
  const root = (window.gradio_config?.root || new URL(".", document.baseURI).href).replace(/\/$/, "");
  return `${root}/gradio_api/file=${path}`;
}
