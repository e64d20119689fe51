"""A live run for the page: it takes a checked request and yields the Trace so far and one sentence. Prompts are never logged."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

from core.errors import EnvironmentFailure, UserError
from spec_ui import words
from spec_ui.server.limits import RUN_SECONDS, Refused, check
from spec_ui.server.model_state import details_of, method_names, not_ready
from spec_ui.server.notices import say
from spec_ui.server.recordings import with_source
from spec_ui.words import DEFAULT

log = logging.getLogger(__name__)
CUT = json.dumps({"totals": {"stop": "cancelled"}, "plain": None}) + "\n"


def run(
    engine: Any,
    *fields: Any,
    settings: object = None,
    branch: object = None,
    grammar: object = None,
    lang: object = DEFAULT,
    seconds: float = RUN_SECONDS,
    clock=time.monotonic,
) -> Iterator[tuple[str | None, str]]:
    """Yields (NDJSON so far, notice); None in place of the NDJSON leaves the player as it is. One yield a line, so that Stop acts within a round.

    `fields`: prompt, method, draft length, temperature, top-p, seed, new tokens, unchecked. `settings`, `branch` and `grammar`: see limits.py.
    `seconds`: the limit for one run. When the page stops the run or its tab is closed, Gradio closes this generator, which closes the engine's
    stream and so frees its cache.
    """
    lang = words.clean(lang)
    refusal = not_ready(engine.state(), lang)  # first: the methods are known only once the model is loaded
    if refusal:
        yield None, say(refusal, "error")
        return
    try:
        known = {"known": method_names(engine), "details": details_of(engine, fields[1])}
        request, given = check(*fields, settings=settings, branch=branch, grammar=grammar, **known)
    except Refused as refused:
        yield None, say(refused.sentence(lang), "error")
        return
    except UserError as error:
        yield None, say(words.failure(error, lang), "error")
        return
    text, end, stream, started = "", None, None, clock()
    try:
        stream = engine.stream(request)
        for line in stream:
            text += line if text else with_source(line, "live", **({"branch": {"base": given["base"], "text": given["shown"]}} if given else {}))
            done = '"totals"' in line[:12]
            if done:
                end = json.loads(line)
            yield text, say(*progress(end, lang))
            if clock() - started > seconds and not (end and end.get("plain")):
                text += "" if end else CUT
                yield text, say(words.text(lang, "live.limit", seconds=f"{seconds:g}"), "error")
                return
        yield text, say(*farewell(end, request.method, lang))
    except (UserError, EnvironmentFailure) as error:
        yield _cut(text), say(words.failure(error, lang), "error")
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
        yield _cut(text), say(words.text(lang, "live.failed"), "error")
    finally:
        if stream is not None:
            stream.close()


def _cut(text: str) -> str | None:
    """A run that broke off, closed so that a reader can parse it; None where nothing was decoded."""
    return text + CUT if text and '{"totals"' not in text else text or None


def farewell(end: dict | None, method: str, lang: str = DEFAULT) -> tuple[str, str]:
    """(sentence, kind) at the end of a run. `end`: the stream's last line, None where it did not come."""
    if end is None or end["totals"].get("stop") == "cancelled":
        return words.text(lang, "live.cut", seconds=RUN_SECONDS), "error"
    if not end.get("plain") and method != "plain":
        return words.text(lang, "live.no_plain", seconds=RUN_SECONDS), "info"
    return words.text(lang, "live.done"), "info"


def progress(end: dict | None, lang: str = DEFAULT) -> tuple[str, str]:
    """(sentence, kind) while a run is decoded. `end`: its totals, once the speculative part is over."""
    if end is None:
        return words.text(lang, "live.speculative"), "busy"
    if not end.get("plain"):
        return words.text(lang, "live.plain"), "busy"
    return words.text(lang, "live.measured"), "info"
