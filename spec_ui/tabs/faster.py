"""The tab "Why it is faster, and when not": drawn in the browser (assets/js/faster*.js); the server only measures its machine."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import gradio as gr

from core.errors import EnvironmentFailure, UserError
from spec_ui.components.explain import LIGHT, of_runs
from spec_ui.server import live

LABEL = "Why it is faster, and when not"
FRESH_SECONDS = 20  # a new wish within this time gets the last measurement: a class pressing one button is one measurement
log = logging.getLogger(__name__)


class Measured:
    """This machine's calibration: measured once for all visitors, again on wish."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.value, self.at, self.lock = engine, "", 0.0, threading.Lock()

    def last(self):
        """On opening the tab: what is known. Nothing is measured that nobody asked for."""
        return self._again() if self.value else gr.skip()

    def measure(self) -> str:
        refusal = live.not_ready(self.engine.state())
        if refusal:
            return json.dumps({"error": "Measuring needs the live model. " + live.load_sentence(self.engine.state())[0]})
        with self.lock:
            if self.value and time.monotonic() - self.at < FRESH_SECONDS:
                return self._again()
            try:
                self.value = json.dumps({"calibration": self.engine.calibration(redo=bool(self.value))})
            except (EnvironmentFailure, UserError) as error:
                return json.dumps({"error": str(error)})
            except Exception as error:  # a bug of ours: the visitor gets a sentence, the log its kind
                log.error("Calibration failed: %s", type(error).__name__)
                return json.dumps({"error": "Measuring failed on the server; please try again."})
            self.at = time.monotonic()
            return self._again()

    def _again(self) -> str:
        """The value, never twice the same text: the page must see that its wish was answered."""
        return json.dumps({**json.loads(self.value), "answer": time.time_ns()})


def build(tab: gr.Tab, engine: Any, traces: Path) -> None:
    chart = of_runs("faster", traces)
    measured = Measured(engine)
    chart.submit(
        measured.measure,
        None,
        chart,
        concurrency_id="model",
        concurrency_limit=1,
        show_progress="hidden",
        trigger_mode="once",
        api_name="measure",
        api_visibility="private",
    )
    tab.select(measured.last, None, chart, **LIGHT)
