"""This machine's costs (core.measuring.costs), measured when a visitor asks and then shared by all visitors."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

from core.errors import EnvironmentFailure, UserError
from spec_ui import words
from spec_ui.server import model_state
from spec_ui.words import DEFAULT

FRESH_SECONDS = 20  # who asks within this time gets the last measurement: a whole class may press the button at once
log = logging.getLogger(__name__)


class Calibration:
    """The engine's calibration as JSON text for the tab: {"calibration": {...}, "answer": n} or {"error": sentence}."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.lock = engine, threading.Lock()
        self.forget()

    def forget(self) -> None:
        self.value, self.at = "", 0.0

    def last(self) -> str | None:
        """What is known, None where nothing is. Opening the tab measures nothing."""
        return self._answer() if self.value else None

    def measure(self, lang: object = DEFAULT) -> str:
        lang, state = words.clean(lang), self.engine.state()
        if model_state.not_ready(state):
            return json.dumps({"error": words.text(lang, "measure.no_model", state=model_state.load_sentence(state, lang)[0])})
        with self.lock:
            if self.value and time.monotonic() - self.at < FRESH_SECONDS:
                return self._answer()
            try:
                self.value = json.dumps({"calibration": self.engine.calibration(redo=bool(self.value))})
            except (EnvironmentFailure, UserError) as error:
                return json.dumps({"error": words.failure(error, lang)})
            except Exception as error:  # a bug of ours: the visitor gets a sentence, the log its kind
                log.error("Calibration failed: %s", type(error).__name__)
                return json.dumps({"error": words.text(lang, "measure.failed")})
            self.at = time.monotonic()
            return self._answer()

    def _answer(self) -> str:
        """The value with a number that is never the same twice: the browser then sees that its request was answered."""
        return json.dumps({**json.loads(self.value), "answer": time.time_ns()})
