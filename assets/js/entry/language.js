// The page's language: from the address, else the browser's. What is drawn in words is told when it changes.
import { langOf, speakIn, wordsFor } from "../words/languages.js";
import { address, openAddress } from "./address.js";

const listeners = [];
let lang = null;

const browserLanguage = () => langOf(String(navigator.language ?? "").split("-")[0].toLowerCase());

export function language() {
  if (lang === null) speakIn((lang = langOf(address.read().lang ?? browserLanguage())));
  return lang;
}

export const words = () => wordsFor(language());
export function onLanguage(act) {
  listeners.push(act);
}

export function setLanguage(code) {
  lang = langOf(code);
  speakIn(lang);
  document.documentElement.lang = lang;
  address.set({ lang: lang === browserLanguage() ? null : lang });
  for (const act of listeners) act(words());
}

// The address to share. It names the language unless that is English: its reader's browser may have another.
export function linkToShare() {
  if (lang !== "en") address.set({ lang });
  return address.flush();
}

// What the components of the page call first.
export function openPage() {
  document.documentElement.lang = language();
  openAddress((leave) => {
    const name = () => {
      const { share } = words().player;
      document.getElementById("theme")?.setAttribute("aria-label", share.theme.label);
      leave(share.leave);
    };
    name();
    onLanguage(name);
  });
}
