"""TracePlayer: a run, shown round by round."""

from __future__ import annotations

from pathlib import Path

import plotly

from spec_ui.components.drawn import Drawn


def plotly_file() -> Path:
    """plotly.min.js of the installed package: this server serves it, nothing is fetched from outside."""
    return Path(plotly.__file__).resolve().parent / "package_data" / "plotly.min.js"


class TracePlayer(Drawn):
    """The value is a Trace as NDJSON, one line a round. It only grows, so that Gradio sends each new line alone."""

    SCRIPT = "window.Specscope.gradioPlayer(element, props, watch, trigger);"
    VALUE = "Trace as NDJSON: a header, one line a round, totals"

    def __init__(self, value: str = "", *, runs: list[dict], prompts: dict[str, str], **props) -> None:
        """`runs`: the list of recordings (run_list.py); `prompts`: the prompt of each example, by its name."""
        super().__init__(value, plotly=plotly_file().as_posix(), runs=runs, prompts=prompts, **props)
