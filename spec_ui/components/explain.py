"""The components behind the tabs that explain. Each gets the list of recorded runs; the browser fetches a run when it is chosen."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from spec_ui.components.drawn import Drawn
from spec_ui.components.player import plotly_file
from spec_ui.server import run_list


class Explain(Drawn):
    """`kind` names the tab: lossless, faster or methods."""

    SCRIPT = "window.Specscope.gradioExplain(element, props, watch, trigger);"
    VALUE = "JSON for the tab's drawing; empty where it needs nothing"


class Lesson(Drawn):
    """The lesson, which needs no value: it lives in the browser."""

    SCRIPT = "window.Specscope.gradioLesson(element, props);"
    VALUE = "nothing: the lesson lives in the browser"


def _runs(folder: Path) -> list[dict]:
    """The recorded runs, listed. Their files can be fetched from now on, and nothing else in the folder."""
    gr.set_static_paths(run_list.files(folder))
    return list(run_list.load(folder))


def explain(kind: str, folder: Path, **props) -> Explain:
    return Explain(kind=kind, runs=_runs(folder), elem_id=kind, elem_classes="ss-explainer", **props)


def lesson(folder: Path) -> Lesson:
    return Lesson(runs=_runs(folder), plotly=plotly_file().as_posix(), elem_id="lesson", elem_classes="ss-explainer")
