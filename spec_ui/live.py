"""A live run as the page sees it: checked request in, growing NDJSON and one sentence out. Prompts are never logged."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

from core.errors import EnvironmentFailure, UserError
from spec_ui.limits import RUN_SECONDS, Refused, check
from spec_ui.notice import say
from spec_ui.recordings import with_source

log = logging.getLogger(__name__)
READY = "The live model is ready."
CUT = json.dumps({"totals": {"stop": "cancelled"}, "plain": None}) + "\n"


def load_sentence(state: Any) -> tuple[str, str]:
    """(sentence, kind) for an engine state."""
    if state.phase == "ready":
        return READY, "info"
    if state.phase == "failed":
        return f"There is no live model: {state.message}", "error"
    share = f" ({round(100 * state.progress)} %)" if state.progress is not None else ""
    doing = "downloading" if state.phase == "downloading" else "loading"
    return f"The live model is {doing}{share} …", "busy"


def not_ready(state: Any) -> str | None:
    """Why Run cannot start now, in one sentence; None when it can."""
    if state.phase == "ready":
        return None
    if state.phase == "failed":
        return load_sentence(state)[0]
    share = f" ({round(100 * state.progress)} %)" if state.progress is not None else ""
    return f"The live model is not ready yet{share}: watch a recorded run and press Run again in a moment."


def method_names(engine: Any) -> list[str]:
    return [m.name for m in engine.methods()]


def run(engine: Any, *fields: Any, seconds: float = RUN_SECONDS, clock=time.monotonic) -> Iterator[tuple[str | None, str]]:
    """Yields (NDJSON so far or None for "leave the player as it is", notice). One yield a line, so that Stop acts within a round.

    When the page stops the run or its tab is closed, Gradio closes this generator; closing the engine's stream frees its cache.
    """
    try:
        refusal = not_ready(engine.state())  # first: which methods there are is known once the model is
        if refusal:
            raise Refused(refusal)
        request = check(*fields, known=method_names(engine))
    except Refused as refused:
        yield None, say(str(refused), "error")
        return
    text, end, stream, started = "", None, None, clock()
    try:
        stream = engine.stream(request)
        for line in stream:
            text += line if text else with_source(line, "live")
            done = '"totals"' in line[:12]
            if done:
                end = json.loads(line)
            yield text, say(*progress(end))
            if clock() - started > seconds and not (end and end.get("plain")):
                text += "" if end else CUT
                yield text, say(f"The run was stopped after {seconds:g} seconds, the limit for one run.", "error")
                return
        yield text, say(*farewell(end, request.method))
    except (UserError, EnvironmentFailure) as error:
        yield _cut(text), say(str(error), "error")
    except Exception as error:  # a bug of ours: the visitor gets a sentence, the log its kind and place (never the prompt)
        place = error.__traceback__
        while place and place.tb_next:
            place = place.tb_next
        log.error(
            "A live run failed: %s at %s:%s",
            type(error).__name__,
            place.tb_frame.f_code.co_filename if place else "?",
            place.tb_lineno if place else "?",
        )
        yield _cut(text), say("The run failed on the server; please try again.", "error")
    finally:
        if stream is not None:
            stream.close()


def _cut(text: str) -> str | None:
    return text + CUT if text and '{"totals"' not in text else text or None


def farewell(end: dict | None, method: str) -> tuple[str, str]:
    if end is None or end["totals"].get("stop") == "cancelled":
        return f"The run was stopped: it reached the limit of {RUN_SECONDS} seconds.", "error"
    if not end.get("plain") and method != "plain":
        return f"Plain decoding did not finish within the {RUN_SECONDS} seconds of a run: the speed-up stays an estimate.", "info"
    return "Done. Step through it, or change something and run again.", "info"


def progress(end: dict | None) -> tuple[str, str]:
    if end is None:
        return "Running live: speculative decoding first.", "busy"
    if not end.get("plain"):
        return "Now plain decoding writes the same prompt, to have a time to compare with …", "busy"
    return "Both runs are measured.", "info"
