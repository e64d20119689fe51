"""Notice: one sentence for the visitor, drawn as text. Every refusal, state and failure reaches the page through it."""

from __future__ import annotations

from spec_ui.components.drawn import Drawn


class Notice(Drawn):
    """The value is what server/notices.py makes. It is an input too: a notice on screen is said again in another language."""

    TEMPLATE = '<p class="ss-notice" role="status" aria-live="polite" hidden></p>'
    SCRIPT = "window.Specscope.gradioNotice(element, props, watch);"
    VALUE = "JSON: kind (info, busy, error) and text, one sentence"
    EMPTY = "{}"
    IS_INPUT = True
