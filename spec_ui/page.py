"""The app: header, tabs, and the one place where launch arguments live (tests, CLI and app.py all launch)."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import spec_ui  # noqa: F401  (switches analytics off before gradio is imported)
import gradio as gr

from spec_ui import bundle, recordings, watch
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
    "head": f"<style>{bundle.styles('player', 'frame')}</style><script>{bundle.script()}</script>",
    "footer_links": [],
    "ssr_mode": False,
    "run_history": False,      # prompts are kept nowhere, not even in the visitor's browser
    "max_file_size": "1kb",    # nothing here takes a file
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
    # The limit is global in Gradio: every event but Run is therefore outside the queue.
    page.queue(max_size=WAITING, default_concurrency_limit=1)
    return page
