// The plain word for a method as the tooltip of its chip. Gradio's radio buttons have no such thing, so it is put on what Gradio has drawn.
const apply = (root, hints) => {
  for (const input of root.querySelectorAll("input[type=radio]")) {
    const hint = Object.hasOwn(hints, input.value) ? hints[input.value] : "";
    input.closest("label").title = hint;
  }
};

// hints(): {method: word} in the page's language. Gradio draws the chips anew when the engine's methods are known and in another language.
export function keepHints(root, hints) {
  if (!root) return () => {};
  const draw = () => apply(root, hints());
  new MutationObserver(draw).observe(root, { childList: true, subtree: true });
  draw();
  return draw;
}
