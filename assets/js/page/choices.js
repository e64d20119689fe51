// Groups of radio buttons or check boxes with a legend. They are real inputs, so that the keyboard works as everywhere.
import { el } from "./dom.js";
import { short } from "./glyphs.js";

// The nodes of a group. options: [{value, text, checked, attrs: of the text}]. pick(value, checked): one was pressed.
export function choiceNodes({ legend, name = null, type = "radio", options, pick }) {
  const label = ({ value, text, checked, attrs = {} }) => {
    const input = el("input", { type, name, value, onchange: () => pick(value, input.checked) });
    input.checked = checked;
    return el("label", {}, input, el("span", { text, ...attrs }));
  };
  return [el("legend", { text: legend }), ...options.map(label)];
}

export const choiceBox = (group) => el("fieldset", { class: "ss-choice" }, ...(group ? choiceNodes(group) : []));

let groups = 0;

// Chips to choose one run. textOf(entry): what a chip says. pick(entry): one was chosen.
export function createRunChips(legend, textOf, pick) {
  const name = `ss-runs-${(groups += 1)}`, root = choiceBox();
  function draw(entries, chosen) {
    const focused = root.contains(document.activeElement), byName = (value) => entries.find((entry) => entry.name === value);
    const option = (entry) => ({
      value: entry.name,
      text: short(textOf(entry).replaceAll(" ", "\u2009"), 48),
      checked: entry.name === chosen?.name,
    });
    root.replaceChildren(...choiceNodes({ legend, name, options: entries.map(option), pick: (value) => pick(byName(value)) }));
    if (focused) root.querySelector("input:checked")?.focus();
  }
  return { root, draw };
}
