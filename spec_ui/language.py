"""The page in another language and at another place, without a reload: one light event on opening (what the address says), one on a choice."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import watch, words

TABS = ("watch", "lossless", "faster", "methods", "lesson")
LIGHT = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}


def header(lang: str = words.DEFAULT) -> str:
    return f'<header class="ss-header"><h1>Specscope</h1><p>{html.escape(words.text(lang, "claim"))}</p></header>'


def chooser() -> gr.Radio:
    return watch.FreeRadio(
        words.names(),
        value=words.DEFAULT,
        label=words.text(words.DEFAULT, "language.label"),
        show_label=False,
        elem_id="lang",
        elem_classes="ss-chips",
        container=False,
    )


def _updates(engine: Any, traces: Path, lang: str) -> list[Any]:
    tabs = [gr.Tab(label=words.text(lang, f"tab.{name}")) for name in TABS]
    return [header(lang), *tabs, *watch.translated(engine, traces, lang)]


def wire(page: gr.Blocks, engine: Any, traces: Path, lang: Any, head: Any, tabs: Any, parts: list[Any], c: dict[str, Any]) -> None:
    labelled = [head, *parts, *(c[name] for name in watch.LABELLED)]

    def choose(code: Any):
        code = words.clean(code)
        return *_updates(engine, traces, code), watch.say("", "info"), watch.say(*watch.live.load_sentence(engine.state(), code))

    def opened(request: gr.Request):
        """What the address says. Every parameter is checked; what is not valid is as if it were not there."""
        query = dict(request.query_params)
        code, tab, run = words.clean(query.get("lang")), query.get("tab"), query.get("run")
        run = run[:60] if isinstance(run, str) else None
        other = code != words.DEFAULT
        recording, notice = watch.opened(traces, run, code)
        labels = _updates(engine, traces, code) if other else [gr.skip()] * len(labelled)
        if run is None and other:
            notice = watch.say(words.text(code, "said.recorded"))
        return *labels, recording, notice, gr.Tabs(selected=tab) if tab in TABS else gr.skip(), code if other else gr.skip()

    page.load(opened, None, [*labelled, c["player"], c["notice"], tabs, lang], **LIGHT)
    lang.input(choose, lang, [*labelled, c["notice"], c["model"]], **LIGHT)
    lang.input(None, lang, None, js="(code) => window.Specscope.setLanguage(code)", **LIGHT)
    for name, part in zip(TABS, parts):
        part.select(None, None, None, js=f"() => window.Specscope.setTab({name!r})", **LIGHT)
