"""Drawn: the base of every part of the page that a script of ours draws."""

from __future__ import annotations

from typing import Any, ClassVar

import gradio as gr


class Drawn(gr.HTML):
    """A component whose value is text for a script (assets/js), never markup.

    The template is constant. Gradio puts a value into a template as raw HTML and then evaluates the whole as a template: `<img onerror=...>`,
    `${...}` and `{{...}}` in a model's text would run as code. Here the value reaches the script alone, and the script puts text on the page
    only through `textContent`.

    A subclass gives SCRIPT and VALUE. What else the script needs is passed as keywords, which it finds in `props`.
    """

    TEMPLATE: ClassVar[str] = '<div class="ss-mount"></div>'
    SCRIPT: ClassVar[str] = ""  # the call that draws the part; `element`, `props`, `watch` and `trigger` are Gradio's
    VALUE: ClassVar[str] = ""  # what the value is, for the description of the API
    EMPTY: ClassVar[str] = ""  # the value of a part that says nothing
    IS_INPUT: ClassVar[bool] = False  # whether the server reads what the browser sends back

    def __init__(self, value: str | None = None, **props: Any) -> None:
        super().__init__(
            value=self.EMPTY if value is None else value,
            html_template=self.TEMPLATE,
            css_template="",
            apply_default_css=False,
            js_on_load=self.SCRIPT,
            **props,
        )

    def preprocess(self, payload: Any) -> Any:
        """What the browser sent, where the part is an input: it may be anything, and whoever reads it must check it."""
        return payload if self.IS_INPUT else ""

    def postprocess(self, value: str | None) -> str:
        """The value as it is. Gradio's own check looks for markup, which no value here is."""
        return value or self.EMPTY

    def api_info(self) -> dict[str, str]:
        return {"type": "string", "description": self.VALUE}
