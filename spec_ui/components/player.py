"""TracePlayer: a Gradio component whose value is the Trace as NDJSON text that only grows; the browser draws it.

The template is constant. Gradio would otherwise evaluate model text as a template (`${...}`, `{{...}}`); here the text reaches the page
only through `textContent`, in assets/js.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import plotly


def plotly_file() -> Path:
    """plotly.min.js of the installed package: served by us, never fetched from outside."""
    return Path(plotly.__file__).resolve().parent / "package_data" / "plotly.min.js"


class TracePlayer(gr.HTML):
    """`runs`: the list of recordings (run_list.py), `prompts`: the examples' prompts, for the chips beside it; more are props of gr.HTML."""

    def __init__(self, value: str = "", *, runs: list[dict], prompts: dict[str, str], **kwargs):
        super().__init__(
            value=value,
            html_template='<div class="ss-mount"></div>',
            css_template="",
            apply_default_css=False,
            js_on_load="window.Specscope.gradioPlayer(element, props, watch, trigger);",
            plotly=plotly_file().as_posix(),
            runs=runs,
            prompts=prompts,
            **kwargs,
        )

    def preprocess(self, payload):  # the browser may send anything: a player is never an input
        return ""

    def postprocess(self, value: str | None) -> str:  # not HTML: Gradio's check for <script> has nothing to say about it
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "Trace as NDJSON: a header, one line a round, totals"}
