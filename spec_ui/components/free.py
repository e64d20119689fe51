"""Gradio's input components without Gradio's own checks."""

from __future__ import annotations

from typing import Any

import gradio as gr


class Free:
    """Passes on what the browser sent, unchecked. Gradio would refuse a value out of bounds with a pop-up in its own words;
    server/limits.py checks every value and refuses it in ours, in the visitor's language."""

    is_template = True

    def preprocess(self, payload: Any) -> Any:
        return payload

    def get_block_name(self) -> str:
        """The name of the Gradio component that draws this one in the browser."""
        return next(c for c in type(self).__mro__ if c.__module__.startswith("gradio.")).__name__.lower()


class FreeSlider(Free, gr.Slider):
    pass


class FreeRadio(Free, gr.Radio):
    pass


class FreeCheckbox(Free, gr.Checkbox):
    pass


class FreeNumber(Free, gr.Number):
    pass
