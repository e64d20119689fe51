// Opens a tab of the page. A tab in the bar is found by its id. In a narrow window Gradio puts the last tabs into a menu, without ids:
// there a tab is found by its name, and its name by its place among all tabs.
import { TABS } from "./address.js";

export function openTab(id) {
  const shown = document.querySelector(`.ss-tabs [role=tab][data-tab-id="${id}"]`);
  if (shown) { shown.click(); return; }
  const name = document.querySelectorAll(".ss-tabs .tab-container.visually-hidden button")[TABS.indexOf(id)]?.textContent;
  [...document.querySelectorAll(".ss-tabs .overflow-dropdown button")].find((b) => b.textContent === name)?.click();
}
