"""The few settings a method has of its own, drawn in the browser from what the engine says about them; checked in limits.py."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr


def value_for(method: object, details: list[dict[str, Any]]) -> str:
    return json.dumps({"method": method if isinstance(method, str) else "", "details": details, "given": {}})


class MethodSettings(gr.HTML):
    """Value: JSON {"method": name, "details": [...], "given": {name: value}}. As an input it is whatever the browser sent: text to be checked."""

    def __init__(self, value: str = "", **kwargs):
        super().__init__(
            value=value,
            html_template='<div class="ss-mount"></div>',
            css_template="",
            apply_default_css=False,
            js_on_load="window.Specscope.gradioSettings(element, props, watch);",
            **kwargs,
        )

    def preprocess(self, payload):
        return payload

    def postprocess(self, value: str | None) -> str:
        return value or ""

    def api_info(self) -> dict:
        return {"type": "string", "description": 'JSON: {"given": {setting: value}}, a method\'s own settings'}
