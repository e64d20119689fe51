"""The tab "Lesson": ten steps on recorded runs, drawn and checked in the browser (assets/js/lesson*.js). The server has no part in it."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from spec_ui.components.player import plotly_file
from spec_ui.server import run_list


class Lesson(gr.HTML):
    def __init__(self, runs: list[dict], **kwargs):
        super().__init__(
            value="",
            html_template='<div class="ss-mount"></div>',
            css_template="",
            apply_default_css=False,
            js_on_load="window.Specscope.gradioLesson(element, props);",
            runs=runs,
            plotly=plotly_file().as_posix(),
            **kwargs,
        )

    def preprocess(self, payload):  # the browser may send anything: never an input
        return ""

    def postprocess(self, value: str | None) -> str:
        return ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "nothing: the lesson lives in the browser"}


def build(traces: Path) -> None:
    gr.set_static_paths(run_list.files(traces))
    Lesson(list(run_list.load(traces)), elem_id="lesson", elem_classes="ss-explainer")
