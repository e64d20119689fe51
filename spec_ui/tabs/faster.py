"""The tab "Why it is faster, and when not": drawn in the browser (assets/js); the server only measures its machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui.components import explain
from spec_ui.components.events import LIGHT, MODEL
from spec_ui.server.calibration import Calibration


def build(tab: gr.Tab, engine: Any, traces: Path, lang: Any) -> None:
    """`lang`: the language's component."""
    chart, calibration = explain.explain("faster", traces), Calibration(engine)
    chart.submit(calibration.measure, lang, chart, show_progress="hidden", api_name="measure", api_visibility="private", **MODEL)
    tab.select(lambda: calibration.last() or gr.skip(), None, chart, **LIGHT)
