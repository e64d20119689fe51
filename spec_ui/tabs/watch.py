"""The tab "Watch": controls at the left, the player at the right, and what happens when something is pressed.

Playing a recording asks the server for nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from core.runs import prompts
from spec_ui import words
from spec_ui.components.events import LIGHT, MODEL
from spec_ui.components.player import TracePlayer
from spec_ui.server import live, model_state, recordings, run_list
from spec_ui.server.notices import say
from spec_ui.tabs import watch_controls
from spec_ui.tabs.watch_controls import PANEL, method_choices, settings_of
from spec_ui.words import DEFAULT


def build(page: gr.Blocks, engine: Any, traces: Path, lang: Any) -> dict[str, Any]:
    """Lays the tab out inside the open Blocks and wires it. `traces`: the folder of recorded runs; `lang`: the language's component."""
    example, recording = recordings.first(traces)
    prompt = recordings.prompt_of(recording) or next(iter(prompts.shown().values()))
    with gr.Row(elem_classes="ss-page"):
        with gr.Column(scale=0, min_width=288, elem_classes="ss-aside"):
            c = watch_controls.build(engine, traces, example, prompt, recordings.facts(recording))
        with gr.Column(scale=1, min_width=0, elem_classes="ss-main"):
            gr.set_static_paths(run_list.files(traces))
            c["player"] = TracePlayer(recording, runs=list(run_list.load(traces)), prompts=prompts.shown(), elem_id="player")
    _wire_runs(engine, c, lang)
    _wire_controls(engine, c)
    _wire_loading(page, engine, traces, c, lang)
    return c


def _wire_runs(engine: Any, c: dict[str, Any], lang: Any) -> None:
    """Run, a branch of the text on screen, and Stop."""
    player, notice = c["player"], c["notice"]
    fields = [c[name] for name in ("prompt", "method", "draft_len", "temperature", "top_p", "seed", "max_new", "auto", "settings")]
    fields += [lang, c["grammar"]]
    shown = {"show_progress": "minimal", "show_progress_on": [notice], **MODEL}
    # registered before the run: Gradio calls the listeners of a click in this order
    c["run"].click(None, js="() => window.Specscope.started()", **LIGHT)
    running = c["run"].click(partial(_stream, engine), fields, [player, notice], api_name="run", **shown)

    def branch(event: gr.EventData, *values: Any):  # a closure, not a partial: Gradio reads the annotation
        yield from _stream(engine, *values, branch=event._data)

    branching = player.submit(branch, fields, [player, notice], api_visibility="private", **shown)
    # Stop says that it stopped only where something ran, so it asks before `ended` forgets that.
    asked = "(lang) => [lang, window.Specscope.running()]"
    c["stop"].click(_stopped, [lang, notice], notice, js=asked, cancels=[running, branching], **LIGHT)
    for over in (running.then, branching.then, c["stop"].click):
        over(None, js="() => window.Specscope.ended()", **LIGHT)


def _wire_controls(engine: Any, c: dict[str, Any]) -> None:
    """A chip shows its recording, and the controls follow the recording on screen: in the browser, from static files."""
    for chips in (c["example"], c["method"]):
        choose = "(...now) => window.Specscope.chooseRun(...now)"
        chips.input(None, [c["example"], c["method"], c["prompt"], c["grammar"]], [c["prompt"], c["notice"], c["grammar"]], js=choose, **LIGHT)
    panel = [c[name] for name in PANEL]
    c["player"].select(None, panel, panel, js="(...now) => window.Specscope.panel(now)", **LIGHT)
    # not `input`: Gradio tells it only of keys, not of what is pasted
    c["prompt"].change(None, c["prompt"], c["example"], js="(prompt) => window.Specscope.exampleOf(prompt)", **LIGHT)
    c["method"].change(partial(_method, engine), c["method"], [c["draft_len"], c["auto"], c["settings"]], **LIGHT)


def _wire_loading(page: gr.Blocks, engine: Any, traces: Path, c: dict[str, Any], lang: Any) -> None:
    """On opening and then once a second, until the model is there or cannot come."""
    timer = gr.Timer(1.0)
    watched = [c["model"], c["method"], c["settings"], timer]
    # from the script, not from the language's component: that one may not have read the address yet
    js = "(method) => [method, window.Specscope.language()]"
    for event in (timer.tick, page.load):
        event(partial(_watch_load, engine, traces), [c["method"], lang], watched, js=js, **LIGHT)


def _stream(
    engine: Any,
    prompt,
    method,
    draft_len,
    temperature,
    top_p,
    seed,
    max_new,
    auto=False,
    settings=None,
    lang=DEFAULT,
    grammar="",
    branch: object = None,
):
    fields = (prompt, method, "auto" if auto is True else draft_len, temperature, top_p, seed, max_new)
    for ndjson, notice in live.run(engine, *fields, settings=settings, branch=branch, grammar=grammar, lang=lang):
        yield gr.skip() if ndjson is None else ndjson, notice


def _stopped(lang: Any, running: Any):
    return say(words.text(lang, "said.stopped")) if running is True else gr.skip()


def _method(engine: Any, name: Any):
    """A method was chosen, by its chip or by a recording: (draft length, auto, settings)."""
    chosen = next((m for m in engine.methods() if m.name == name), None)
    drafts = gr.skip() if chosen is None else gr.update(interactive="draft_len" in chosen.settings)
    return drafts, drafts, settings_of(engine, name)


def opened(traces: Path, run: Any, lang: str) -> tuple[Any, Any]:
    """(player, notice) for the recording that the address names; the controls follow the player. A name that no recording has is refused."""
    if run is None:
        return gr.skip(), gr.skip()
    found = recordings.load(traces).get(run) if isinstance(run, str) else None
    if found is None:
        return gr.skip(), say(words.text(lang, "said.no_run"), "error")
    return found, say(words.text(lang, "said.recorded"))


def _watch_load(engine: Any, traces: Path, method: Any, lang: Any = DEFAULT):
    """(the model's state in words, method chips, settings, timer)."""
    state, lang = engine.state(), words.clean(lang)
    notice = say(*model_state.load_sentence(state, lang))
    if state.phase not in ("ready", "failed"):
        return notice, gr.skip(), gr.skip(), gr.skip()
    choices = method_choices(engine, traces, lang)
    names = [name for _, name in choices]
    # Without recordings "plain" is no choice of the visitor's: it is what the page started with.
    chosen = isinstance(method, str) and method in names and (method != "plain" or recordings.methods(traces))
    value = method if chosen else names[0] if names else None
    # A chosen method is not sent back: a recording may have set another one meanwhile.
    radio = gr.update(choices=choices) if chosen else gr.update(choices=choices, value=value)
    return notice, radio, settings_of(engine, value), gr.Timer(active=False)
