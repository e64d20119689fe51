// Sharing, files and the presenter's view, in English. A translation is one more file with the same keys.
export const SHARE_EN = {
  title: "Share and keep",
  link: "Copy link", command: "Copy as command", open: "Open a saved run (trace) …", save: "Save run (trace)", html: "Save as one HTML file", present: "Present", leave: "Leave the presenter's view (Esc)",
  linkNone: "A link can name a recording only. Save this run, or the page with it, and pass the file on.",
  linkCopied: "The link is copied: it opens this recording at this step.",
  commandCopied: "The command is copied: it makes this run again.", commandNone: "This run says neither its prompt nor its ids: there is no command for it.", copyFailed: "The browser did not allow copying; here it is to copy by hand:",
  opened: (name) => `${name} is open. It stays in this browser.`, saved: "Saved by the browser as a file.",
  errors: { big: "This file is larger than 8 MB, the most that can be opened here.", empty: "This file is empty.", kind: "This file holds JSON, but no trace.", json: "This file is not JSON, so it is no trace.", line: (n) => `Line ${n} of this file is not JSON.`, run: "This file has no run facts: it is no trace.",
    version: (v) => `This trace has version ${v}; this page reads version 1.`, rounds: "This trace has no rounds.", many: "This trace has more than 5,000 rounds.", round: (i) => `Round ${i} of this trace is not written as it should be.`, read: "This file could not be read." },
  theme: { label: "Colours" },
};
