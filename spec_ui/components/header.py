"""What stands above the tabs: the name, one sentence, the choice of a language."""

from __future__ import annotations

import html

import gradio as gr

from spec_ui import words
from spec_ui.components.free import FreeRadio


def title(lang: str = words.DEFAULT) -> str:
    return f'<header class="ss-header"><h1>Specscope</h1><p>{html.escape(words.text(lang, "claim"))}</p></header>'


def chooser() -> gr.Radio:
    """The languages, each by its own name."""
    return FreeRadio(
        words.names(),
        value=words.DEFAULT,
        label=words.text(words.DEFAULT, "language.label"),
        show_label=False,
        elem_id="lang",
        elem_classes="ss-chips",
        container=False,
    )
