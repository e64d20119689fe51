"""The whole page: header, tabs, and the launch arguments that tests, the command line and app.py share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import language, words
from spec_ui.components import header
from spec_ui.components.events import LIGHT
from spec_ui.components.player import plotly_file
from spec_ui.server import bundle, first_script, recordings
from spec_ui.server.limits import WAITING
from spec_ui.tabs import faster, lesson, lossless, methods, watch
from spec_ui.theme import theme

TITLE = "Specscope"
STYLES = ("player", "frame", "explain", "whatif", "lesson")

LAUNCH_KWARGS: dict[str, Any] = {
    "theme": theme(),
    "css": bundle.styles("page"),
    # In the head, not as `css`: Gradio puts its container in front of every selector there and drops @container rules.
    # The page that is saved as one file finds both by their ids.
    "head": f'<style id="ss-styles">{bundle.styles(*STYLES)}</style>'
    f'<script id="ss-bundle">{bundle.script()}</script>',
    "footer_links": [],
    "ssr_mode": False,
    "run_history": False,  # prompts are stored nowhere, not even in the visitor's browser
    "max_file_size": "1kb",  # nothing here takes a file: traces are opened in the browser and stay there
    "enable_monitoring": False,
    "app_kwargs": {"middleware": [first_script.quiet_frames()]},
}


def _tab(name: str) -> gr.Tab:
    return gr.Tab(words.text(words.DEFAULT, f"tab.{name}"), id=name)


def build(engine: Any, traces: Path = recordings.FOLDER) -> gr.Blocks:
    """The page for an engine (core.runs.engine.Engine or a stand-in with the same methods). `traces`: the folder of recorded runs."""
    gr.set_static_paths([plotly_file()])
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False) as page:
        with gr.Row(elem_classes="ss-top"):
            head = gr.HTML(header.title(), apply_default_css=False, js_on_load=None, elem_id="header")
            lang = header.chooser()
            dark = gr.Button("◐", elem_id="theme", size="sm")
        with gr.Tabs(elem_classes="ss-tabs") as tabs:
            with _tab("watch") as tab_watch:
                controls = watch.build(page, engine, traces, lang)
            with _tab("lossless") as tab_lossless:
                lossless.build(traces)
            with _tab("faster") as tab_faster:
                faster.build(tab_faster, engine, traces, lang)
            with _tab("methods") as tab_methods:
                methods.build(traces)
            with _tab("lesson") as tab_lesson:
                lesson.build(traces)
        parts = [tab_watch, tab_lossless, tab_faster, tab_methods, tab_lesson]
        language.wire(page, engine, traces, lang, head, tabs, parts, controls)
        dark.click(None, js="() => window.Specscope.toggleTheme()", **LIGHT)
    # One limit for the whole page in Gradio, so every event that does not use the model stays outside the queue.
    page.queue(max_size=WAITING, default_concurrency_limit=1)
    return page
