"""Explain: the component behind the tabs that explain. The browser draws everything (assets/js); the template is constant."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from spec_ui.server import run_list

LIGHT = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


class Explain(gr.HTML):
    def __init__(self, value: str = "", *, kind: str = "lossless", **kwargs):
        super().__init__(
            value=value,
            html_template='<div class="ss-mount"></div>',
            css_template="",
            apply_default_css=False,
            js_on_load="window.Specscope.gradioExplain(element, props, watch, trigger);",
            kind=kind,
            **kwargs,
        )

    def preprocess(self, payload):  # the browser may send anything: never an input
        return ""

    def postprocess(self, value: str | None) -> str:
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": "JSON for the tab's drawing; empty where it needs nothing"}


def of_runs(kind: str, folder: Path, **more) -> Explain:
    """The tab's component with the list of recorded runs. Their files are made fetchable, and nothing else in the folder."""
    gr.set_static_paths(run_list.files(folder))
    return Explain(kind=kind, runs=list(run_list.load(folder)), elem_id=kind, elem_classes="ss-explainer", **more)
