// Going to a tab of the page: by its id where it stands in the bar; by its place among all tabs where a narrow window has put it into a
// menu, in which Gradio gives it no id.
import { TABS } from "./address.js";

export function openTab(id) {
  const shown = document.querySelector(`.ss-tabs [role=tab][data-tab-id="${id}"]`);
  if (shown) { shown.click(); return; }
  const name = document.querySelectorAll(".ss-tabs .tab-container.visually-hidden button")[TABS.indexOf(id)]?.textContent;
  [...document.querySelectorAll(".ss-tabs .overflow-dropdown button")].find((b) => b.textContent === name)?.click();
}
