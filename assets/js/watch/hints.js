// The plain word for a method as the tooltip of its chip. Gradio's radio buttons have no such thing, so it is put on what Gradio has drawn.
function put(root, hints) {
  for (const input of root.querySelectorAll("input[type=radio]")) {
    input.closest("label").title = Object.hasOwn(hints, input.value) ? hints[input.value] : "";
  }
}

// hints(): {method: word} in the page's language. Gradio may draw the chips later than the player, and draws them anew when the engine's
// methods are known and in another language. Returns what puts the hints of the language now.
export function keepHints(id, hints) {
  let root = null;
  const draw = () => { if (root) put(root, hints()); };
  const watch = (node, act) => new MutationObserver(act).observe(node, { childList: true, subtree: true });
  function find() {
    if (root) return;
    root = document.getElementById(id);
    if (root) watch(root, draw);
    draw();
  }
  find();
  if (!root) watch(document.body, (_, observer) => { find(); if (root) observer.disconnect(); });
  return draw;
}
