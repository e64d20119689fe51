"""The folders of recorded runs that the shared pages are built from, by name."""

from __future__ import annotations

import json
from pathlib import Path

from spec_ui.server import recordings
from tests.spec_ui import fake_trace, long_trace
from tests.spec_ui.fake_engine import with_texts

LONG_ROUNDS = 200
ARABIC = [" سلام", " دنیا", " کتاب", " باران", " درخت"]
# Texts that a model or a visitor may write.
HOSTILE = {
    "script": " <script>window.__hit = 1</script>",
    "image": "<img src=x onerror=window.__hit=1>",
    "literal": "${window.__hit = 1}",
    "handlebars": "{{constructor}}{{{x}}}",
    "backslash": "C:\\users\\u\\x `${HOME}`",
    "eos": "</s>",
    "markup": "<b>x</b><br>",
    "rtl": "\u202eمرحبا بالعالم\u202c",
    "emoji": "👩\u200d👩",
    "half": "\ufffd",
    "bytes": "<0xF0>",
    "newline": "a\n\n",
    "long": "x" * 10_000,
    "tabs": "\t \x1b[31m\x00",
    "quote": "\"'>",
    "space": "   ",
    "none": "",
}


def _write(folder: Path, name: str, trace: dict, **run) -> None:
    trace["run"].update(run)
    (folder / f"{name}.json").write_text(json.dumps(trace), encoding="utf-8")


def few(folder: Path) -> None:
    """A sampled run, a greedy one and a tree."""
    for name, options in {"chat-draft": {}, "list-draft": {"temperature": 0}, "story-draft": {"temperature": 0, "tree": True}}.items():
        _write(folder, name, fake_trace.make(prompt=f"prompt of {name}", **options))


def two_methods(folder: Path) -> None:
    """Two methods for one example, made with different settings, and the same method for another example."""
    settings = {"chat-draft": {}, "chat-lookup": {"temperature": 0, "draft_len": 6, "seed": 11}, "edit-lookup": {"temperature": 0.4}}
    for name, options in settings.items():
        more = {"settings": {"tree": "2x1", "ngram_max": 3}} if name == "chat-draft" else {}
        trace = fake_trace.make(prompt=f"prompt of {name}", limit=30, **options)
        _write(folder, name, trace, method=name.split("-")[1], max_new_tokens=30, **more)


def race(folder: Path) -> None:
    """Two methods that write the same greedy text, and a sampled run that is slower than plain decoding."""
    for method, draft_len in {"draft": 4, "lookup": 2}.items():
        _write(folder, f"chat-{method}", fake_trace.make(temperature=0, draft_len=draft_len), method=method)
    slow = fake_trace.make(limit=30)
    slow["plain"]["elapsed_s"] = [t / 4 for t in slow["plain"]["elapsed_s"]]
    _write(folder, "list-draft", slow)


def coupled(folder: Path) -> None:
    """Three methods that write one sampled text with the same dice, the same for another seed of two, and an ordinary run."""
    for method, draft_len in {"draft": 4, "eagle": 3, "lookup": 1}.items():
        _write(folder, f"chat-{method}-coupled", fake_trace.make(coupled=True, draft_len=draft_len, limit=40), method=method)
        if method != "lookup":
            _write(folder, f"story-{method}-coupled", fake_trace.make(coupled=True, draft_len=draft_len, limit=20, seed=8), method=method)
    _write(folder, "list-draft", fake_trace.make(limit=30))


def long(folder: Path) -> None:
    _write(folder, "chat-draft", long_trace.make(LONG_ROUNDS))


def hostile(folder: Path) -> None:
    """Hostile run facts, an example for each of some hostile texts, and text that runs from right to left."""
    facts = with_texts(fake_trace.make(limit=24), [HOSTILE["script"], "${1}", "{{x}}", "<b>x</b>"])
    _write(
        folder,
        "chat-draft",
        facts,
        prompt=HOSTILE["script"] + HOSTILE["literal"],
        target="<img src=x onerror=window.__hit=1>",
        draft="${window.__hit=1}",
        device="{{x}} ${window.__hit=1}",
        dtype="{{x}}",
        created="<b>2026",
        method="<script>window.__hit=1</script>",
    )
    method = "<img src=x onerror=window.__hit=1>"
    for name in ("script", "image", "literal", "rtl", "long", "newline", "none"):
        _write(folder, f"{name}-draft", with_texts(fake_trace.make(limit=12), [HOSTILE[name]]), method=method)
    many = [HOSTILE[k] for k in ("script", "image", "literal", "handlebars", "rtl", "long", "eos", "none")]
    _write(folder, "<b>${1}-draft", with_texts(fake_trace.make(limit=24), many), method=method)
    _write(folder, "arabic-draft", with_texts(fake_trace.make(limit=20), ARABIC))


def none(folder: Path) -> None:
    """No recordings at all."""


MAKERS = {"few": few, "two methods": two_methods, "race": race, "coupled": coupled, "long": long, "hostile": hostile, "none": none}


def make(kind: str, folder: Path) -> Path:
    """The folder of recordings: `real` is the one that ships, the others are written into `folder`."""
    if kind == "real":
        return recordings.FOLDER
    MAKERS[kind](folder)
    return folder
