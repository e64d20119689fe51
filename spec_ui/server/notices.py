"""A notice: one sentence and its kind, as the JSON text that the component Notice draws."""

from __future__ import annotations

import json

from spec_ui import words


def say(text: str, kind: str = "info") -> str:
    """`kind`: info, busy or error."""
    return json.dumps({"kind": kind, "text": text})


def again(notice: object, lang: object) -> str:
    """A notice in another language; an empty one where it is not a sentence of ours (the browser may send anything)."""
    try:
        said = json.loads(notice) if isinstance(notice, str) and len(notice) < 4000 else {}
    except (ValueError, RecursionError):
        said = {}
    said = said if isinstance(said, dict) else {}
    kind = said.get("kind")
    return say(words.again(said.get("text"), lang), kind if kind in ("busy", "error") else "info")
