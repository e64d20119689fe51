// Going to a tab of the page by its id, also where a narrow window keeps it in a menu.
export function openTab(id) {
  const find = () => document.querySelector(`.ss-tabs [data-tab-id="${id}"]`), shown = find();
  if (shown && shown.offsetParent !== null) { shown.click(); return; }
  document.querySelector(".ss-tabs .overflow-menu > button")?.click();
  requestAnimationFrame(() => requestAnimationFrame(() => find()?.click()));
}
