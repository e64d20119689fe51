"""The page in another language and at another place, without a reload: one event on opening (what the address says), one on a choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import words
from spec_ui.components import header
from spec_ui.components.events import LIGHT
from spec_ui.server import model_state, notices
from spec_ui.tabs import watch
from spec_ui.tabs.watch_controls import LABELLED, translated

TABS = ("watch", "lossless", "faster", "methods", "lesson")


def _updates(engine: Any, traces: Path, lang: str) -> list[Any]:
    tabs = [gr.Tab(label=words.text(lang, f"tab.{name}")) for name in TABS]
    return [header.title(lang), *tabs, *translated(engine, traces, lang)]


def _labelled(code: str) -> dict[str, Any]:
    return gr.update(value=code, label=words.text(code, "language.label"))


def wire(page: gr.Blocks, engine: Any, traces: Path, lang: Any, head: Any, tabs: Any, parts: list[Any], c: dict[str, Any]) -> None:
    """`head`: the header; `parts`: the tabs in the order of TABS; `c`: the controls of the Watch tab, by name."""
    labelled = [head, *parts, *(c[name] for name in LABELLED)]

    def choose(code: Any, said: Any):
        code = words.clean(code)
        model = notices.say(*model_state.load_sentence(engine.state(), code))
        return *_updates(engine, traces, code), notices.again(said, code), model, _labelled(code)

    def opened(code: Any, request: gr.Request):
        """The browser says which language it opens in, the address the rest. What is not valid counts as not said."""
        query = dict(request.query_params)
        code, tab, run = words.clean(code), query.get("tab"), query.get("run")
        run = run[:60] if isinstance(run, str) else None
        other = code != words.DEFAULT
        recording, said = watch.opened(traces, run, code)
        labels = _updates(engine, traces, code) if other else [gr.skip()] * len(labelled)
        if run is None and other:
            said = notices.say(words.text(code, "said.recorded"))
        return *labels, recording, said, gr.Tabs(selected=tab) if tab in TABS else gr.skip(), _labelled(code) if other else gr.skip()

    js = "() => window.Specscope.language()"
    page.load(opened, lang, [*labelled, c["player"], c["notice"], tabs, lang], js=js, **LIGHT)
    lang.input(choose, [lang, c["notice"]], [*labelled, c["notice"], c["model"], lang], **LIGHT)
    lang.input(None, lang, None, js="(code) => window.Specscope.setLanguage(code)", **LIGHT)
    for name, part in zip(TABS, parts):
        part.select(None, None, None, js=f"() => window.Specscope.setTab({name!r})", **LIGHT)
