"""The app: header, tabs, and the one place where launch arguments live (tests, CLI and app.py all launch)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import bundle, faster, lossless, methods_tab, recordings, watch
from spec_ui.limits import WAITING
from spec_ui.player import plotly_file
from spec_ui.theme import theme

TITLE = "Specscope"
CLAIM = "Watch a small model guess, a large one check, and nothing get lost."
HEADER = f'<header class="ss-header"><h1>{TITLE}</h1><p>{CLAIM}</p></header>'

LAUNCH_KWARGS: dict[str, Any] = {
    "theme": theme(),
    "css": bundle.styles("page"),
    # These go in as they are: what is passed as `css` Gradio prefixes with its container, and loses @container on the way.
    "head": f"<style>{bundle.styles('player', 'frame', 'explain')}</style><script>{bundle.script(bundle.ENTRY, 'explain_glue.js')}</script>",
    "footer_links": [],
    "ssr_mode": False,
    "run_history": False,  # prompts are kept nowhere, not even in the visitor's browser
    "max_file_size": "1kb",  # nothing here takes a file
    "enable_monitoring": False,
}


def build(engine: Any, traces: Path = recordings.FOLDER) -> gr.Blocks:
    """The whole page around an engine (core.engine.Engine or a stand-in with the same four methods)."""
    gr.set_static_paths([plotly_file()])
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False) as page:
        gr.HTML(HEADER, apply_default_css=False, js_on_load=None, elem_id="header")
        with gr.Tabs(elem_classes="ss-tabs"):
            with gr.Tab("Watch", id="watch"):
                watch.build(page, engine, traces)
            with gr.Tab(lossless.LABEL, id="lossless"):
                lossless.build(traces)
            with gr.Tab(faster.LABEL, id="faster") as tab:
                faster.build(tab, engine, traces)
            with gr.Tab(methods_tab.LABEL, id="methods"):
                methods_tab.build(traces)
    # The limit is global in Gradio: every event but Run is therefore outside the queue.
    page.queue(max_size=WAITING, default_concurrency_limit=1)
    return page
