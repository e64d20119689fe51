// Going to a tab of the page: by its id where it stands in the bar; by its place among all tabs (0 the first, -1 the last) where a narrow
// window has put it into a menu, in which Gradio gives it no id.
export function openTab(id, place) {
  const shown = document.querySelector(`.ss-tabs [role=tab][data-tab-id="${id}"]`);
  if (shown) { shown.click(); return; }
  const name = [...document.querySelectorAll(".ss-tabs .tab-container.visually-hidden button")].at(place)?.textContent;
  [...document.querySelectorAll(".ss-tabs .overflow-dropdown button")].find((b) => b.textContent === name)?.click();
}
