// What belongs to the whole page: the address, the theme, the presenter's view. Called once by the first component that is drawn.
import { createAddress } from "../page/address.js";
import { addLeave, presenting, setPresent, watchPresent } from "../page/present.js";

export const address = createAddress();

export function setTab(name) {
  address.set({ tab: name === "watch" ? null : name });
}

export function toggleTheme() {
  const dark = document.body.classList.toggle("dark");
  address.set({ theme: dark ? "dark" : "light" });
}

const presentChanged = (on) => address.set({ view: on ? "present" : null });
export const present = () => setPresent(!presenting(), presentChanged);

// The server opens the tab that the address names. On a busy machine its message can come before the tabs are there, and is lost. Then the tab
// is clicked here, until it is open or the reader has pressed something.
function insistOnTab(id) {
  let left = 30;
  const timer = setInterval(() => {
    const tab = document.querySelector(`.ss-tabs [role=tab][data-tab-id="${id}"]`);
    left -= 1;
    if (tab?.getAttribute("aria-selected") === "true" || left < 0) clearInterval(timer);
    else if (left < 26) tab?.click();
  }, 500);
  document.addEventListener("click", (e) => { if (e.isTrusted) clearInterval(timer); }, { capture: true });
}

// A tab that was clicked keeps the keyboard's focus, and with it the arrow keys, which belong to what the tab shows.
function freeTheArrowKeys() {
  document.addEventListener("click", (e) => {
    const tab = e.detail > 0 && e.target.closest?.(".ss-tabs [role=tab]");
    if (tab) tab.blur();
  });
}

let opened = false;

// Does what the address says and no component does. name(leave): gives the button that leaves the presenter's view its text.
export function openAddress(name) {
  if (opened) return;
  opened = true;
  document.documentElement.classList.add("ss-host");
  name(addLeave(presentChanged));
  freeTheArrowKeys();
  const { view, tab } = address.read();
  if (tab && tab !== "watch") insistOnTab(tab);
  if (view) setPresent(true);
  watchPresent(presentChanged);
}
