"""Notice: one sentence for the visitor, drawn as text. Every refusal, state and failure reaches the page through it."""

from __future__ import annotations

import json

import gradio as gr

from spec_ui import words


def say(text: str, kind: str = "info") -> str:
    """`kind`: info, busy or error."""
    return json.dumps({"kind": kind, "text": text})


def again(notice: object, lang: object) -> str:
    """What stands there, in another language; nothing where it is not a sentence of ours (the browser may send anything)."""
    try:
        said = json.loads(notice) if isinstance(notice, str) and len(notice) < 4000 else {}
    except (ValueError, RecursionError):
        said = {}
    said = said if isinstance(said, dict) else {}
    kind = said.get("kind")
    return say(words.again(said.get("text"), lang), kind if kind in ("busy", "error") else "info")


class Notice(gr.HTML):
    def __init__(self, value: str = "{}", **kwargs):
        super().__init__(
            value=value,
            html_template='<p class="ss-notice" role="status" aria-live="polite" hidden></p>',
            css_template="",
            apply_default_css=False,
            js_on_load="window.Specscope.gradioNotice(element, props, watch);",
            **kwargs,
        )

    def preprocess(self, payload):
        return payload

    def postprocess(self, value: str | None) -> str:
        return value or "{}"

    def api_info(self) -> dict:
        return {"type": "string", "description": "JSON: kind (info, busy, error) and text, one sentence"}
