// Token text made visible: what a reader cannot see (spaces, newlines, controls, bidirectional overrides) becomes a glyph.

const NAMED = { " ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u007f": "␡" };
// C1 controls, zero-width and bidirectional marks: written as their code point so that they can neither hide nor reorder the page.
// The joiners U+200C/D stay inside a token (emoji and several scripts need them) and show only when they stand alone.
const UNSEEN = /[\0-\x20\x7f\xa0\ud800-\udfff\u0080-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

function one(ch) {
  if (NAMED[ch]) return NAMED[ch];
  const code = ch.codePointAt(0);
  return code < 32 ? String.fromCodePoint(0x2400 + code) : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

// A token by itself: every space and newline visible.
export function visible(text) {
  if (text === "") return "∅";
  if (/^[\u200c\u200d]+$/u.test(text)) return Array.from(text, (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase()}>`).join("");
  return text.replace(UNSEEN, one);
}

export function short(text, limit = 18) {
  const whole = visible(text);
  if (whole.length <= limit) return whole;
  const chars = Array.from(whole);
  return chars.length <= limit ? whole : chars.slice(0, limit - 1).join("") + "…";
}

// A token in a sentence: between quotation marks, so that a comma is seen to be the token.
export const quoted = (text, marks = "“”", limit = 24) => `${marks[0]}${short(text, limit)}${marks[1]}`;

// A text on one line, cut without a mark: for titles and facts, not for tokens.
export const oneLine = (text, limit) => Array.from(runningText(text).replace(/\s+/g, " ")).slice(0, limit).join("");

// A token in running text -> {lead, body, breaks}: its colour goes on the body; the spaces before it and the line breaks behind it stay
// outside, where a line can break.
export function pieces(text) {
  const lead = text.match(/^ */)[0];
  const tail = text.slice(lead.length).match(/\n*$/)[0];
  let body = runningText(text.slice(lead.length, text.length - tail.length));
  if (tail) body += "↵".repeat(tail.length);
  if (!body) return lead ? { lead: lead.slice(1), body: "␣", breaks: "" } : { lead: "", body: "∅", breaks: "" };
  return { lead, body, breaks: tail };
}

// The last words of a text, for headings.
export function tail(text, limit = 34) {
  const chars = Array.from(visible(text).replace(/␣/g, " "));
  return chars.length <= limit ? chars.join("").trim() : "… " + chars.slice(-limit).join("").replace(/^\S*\s/, "");
}

// Running text as it is written, line breaks too: only characters that hide or reorder text are made visible.
export const runningText = (text) => text.replace(UNSEEN, (c) => (c === " " || c === "\n" ? c : one(c)));
