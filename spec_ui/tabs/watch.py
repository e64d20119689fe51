"""The Watch tab: controls at the left, the player at the right. Playing a recording asks the server for nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import words
from spec_ui.components import method_settings
from spec_ui.components.notice import Notice, say
from spec_ui.components.player import TracePlayer
from spec_ui.server import examples, limits, live, recordings, run_list
from spec_ui.words import DEFAULT


class FreeSlider(gr.Slider):
    """A slider whose bounds are refused in our own words (limits.py), not in a pop-up."""

    is_template = True

    def preprocess(self, payload):
        return payload


class FreeRadio(gr.Radio):
    is_template = True

    def preprocess(self, payload):
        return payload


class FreeCheckbox(gr.Checkbox):
    is_template = True

    def preprocess(self, payload):
        return payload


class FreeNumber(gr.Number):
    is_template = True

    def preprocess(self, payload):
        return payload


def method_choices(engine: Any, traces: Path, lang: str = DEFAULT) -> list[tuple[str, str]]:
    """(label, name): what the engine can run; before it is loaded, what has a recording too. Plain decoding comes last."""
    table = words.table(lang)
    live_ = [(table.get(f"method.{m.name}", m.label), m.name) for m in engine.methods()]
    names = {name for _, name in live_}
    recorded = [] if engine.state().phase == "ready" else [(table.get(f"method.{m}", m), m) for m in recordings.methods(traces) if m not in names]
    return sorted(recorded + live_, key=lambda choice: choice[1] == "plain")


def example_choices(lang: str = DEFAULT) -> list[tuple[str, str]]:
    table = words.table(lang)
    return [(table.get(f"example.{name}", name), name) for name in examples.load()]


def _controls(engine: Any, traces: Path, example: str | None, prompt: str, recorded: dict[str, Any]) -> dict[str, Any]:
    methods, say_, w = method_choices(engine, traces), words.table(DEFAULT), {}
    w["prompt"] = gr.Textbox(prompt, label=say_["prompt.label"], lines=3, max_lines=8, elem_id="prompt", placeholder=say_["prompt.placeholder"])
    w["example"] = FreeRadio(example_choices(), value=example, label=say_["example.label"], elem_id="example", elem_classes="ss-chips")
    names = [name for _, name in methods]
    first = recorded.get("method") if recorded.get("method") in names else next(iter(names), None)
    draft_len, sampling = recorded.get("draft_len"), recorded.get("sampling", {})
    w["method"] = FreeRadio(methods, value=first, label=say_["method.label"], elem_id="method", elem_classes="ss-chips")
    w["draft_len"] = FreeSlider(
        *limits.DRAFT_LEN,
        value=draft_len if isinstance(draft_len, int) and draft_len > 0 else 4,
        step=1,
        label=say_["draft_len.label"],
        elem_id="draft-len",
        buttons=[],
    )
    w["auto"] = FreeCheckbox(False, label=say_["auto.label"], elem_id="auto", container=False)
    w["settings"] = method_settings.MethodSettings(_settings_of(engine, first), elem_id="settings")
    heat, top_p, most = sampling.get("temperature", 0.7), sampling.get("top_p", 1), recorded.get("max_new_tokens", 96)
    w["temperature"] = FreeSlider(*limits.TEMPERATURE, value=heat, step=0.05, label=say_["temperature.label"], elem_id="temperature", buttons=[])
    w["top_p"] = FreeSlider(0.05, 1, value=top_p, step=0.05, label=say_["top_p.label"], elem_id="top-p", buttons=[])
    w["max_new"] = FreeSlider(*limits.NEW_TOKENS, value=most, step=1, label=say_["max_new.label"], elem_id="max-new", buttons=[])
    w["seed"] = FreeNumber(recorded.get("seed", 7), label=say_["seed.label"], elem_id="seed", precision=None)
    with gr.Column(elem_classes="ss-foot"):  # stays in sight when the controls are taller than the window
        with gr.Row(elem_classes="ss-runrow"):
            w["run"] = gr.Button(say_["run"], variant="primary", elem_id="run", scale=3)
            w["stop"] = gr.Button(say_["stop"], elem_id="stop", scale=1)
        w["notice"] = Notice(say(say_["said.recorded"]) if example else "{}", elem_id="notice")
        w["model"] = Notice(elem_id="model-state")
    return w


# What the controls say of a recording, in the order of panelOf (assets/js/watch_runs.js).
PANEL = ("prompt", "example", "method", "draft_len", "auto", "temperature", "top_p", "max_new", "seed")
LABELLED = ("prompt", "example", "method", "draft_len", "auto", "temperature", "top_p", "max_new", "seed", "run", "stop")


def translated(engine: Any, traces: Path, lang: str) -> list[Any]:
    """One update for each of LABELLED."""
    table = words.table(lang)
    more = {
        "prompt": {"placeholder": table["prompt.placeholder"]},
        "example": {"choices": example_choices(lang)},
        "method": {"choices": method_choices(engine, traces, lang)},
    }
    return [
        gr.update(value=table[name]) if name in ("run", "stop") else gr.update(label=table[f"{name}.label"], **more.get(name, {}))
        for name in LABELLED
    ]


def build(page: gr.Blocks, engine: Any, traces: Path, lang: Any) -> dict[str, Any]:
    """Lays the tab out inside the open Blocks and wires it. `traces`: the folder of recorded runs; `lang`: the language's component."""
    example, recording = recordings.first(traces)
    prompt = recordings.prompt_of(recording) or next(iter(examples.load().values()))
    with gr.Row(elem_classes="ss-page"):
        with gr.Column(scale=0, min_width=288, elem_classes="ss-aside"):
            c = _controls(engine, traces, example, prompt, recordings.facts(recording))
        with gr.Column(scale=1, min_width=0, elem_classes="ss-main"):
            gr.set_static_paths(run_list.files(traces))
            c["player"] = player = TracePlayer(recording, runs=list(run_list.load(traces)), prompts=examples.load(), elem_id="player")
    timer = gr.Timer(1.0)
    light = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    model = {"concurrency_id": "model", "concurrency_limit": 1, "trigger_mode": "once"}

    fields = [c[name] for name in ("prompt", "method", "draft_len", "temperature", "top_p", "seed", "max_new", "auto", "settings")] + [lang]
    # before the run itself: Gradio calls what a click sets off one after the other
    c["run"].click(None, js="() => window.Specscope.started()", **light)
    running = c["run"].click(
        partial(_stream, engine), fields, [player, c["notice"]], show_progress="minimal", show_progress_on=[c["notice"]], api_name="run", **model
    )

    def branch(event: gr.EventData, *values: Any):  # a closure, not a partial: Gradio reads the annotation
        yield from _stream(engine, *values, branch=event._data)

    branching = player.submit(
        branch, fields, [player, c["notice"]], show_progress="minimal", show_progress_on=[c["notice"]], api_visibility="private", **model
    )
    # Stop says that it stopped where something ran: asked before `ended` forgets it.
    asked = "(lang) => [lang, window.Specscope.running()]"
    c["stop"].click(_stopped, [lang, c["notice"]], c["notice"], js=asked, cancels=[running, branching], **light)
    for over in (running.then, branching.then, c["stop"].click):
        over(None, js="() => window.Specscope.ended()", **light)
    # A chip shows its recording, and the controls follow the recording on screen: in the browser, from static files (watch_runs.js).
    for chips in (c["example"], c["method"]):
        choose = "(...now) => window.Specscope.chooseRun(...now)"
        chips.input(None, [c["example"], c["method"], c["prompt"]], [c["prompt"], c["notice"]], js=choose, **light)
    panel = [c[name] for name in PANEL]
    player.select(None, panel, panel, js="(...now) => window.Specscope.panel(now)", **light)
    # not `input`: Gradio tells it only of keys, not of what is pasted
    c["prompt"].change(None, c["prompt"], c["example"], js="(prompt) => window.Specscope.exampleOf(prompt)", **light)
    c["method"].change(partial(_method, engine), c["method"], [c["draft_len"], c["auto"], c["settings"]], **light)
    # On opening and then once a second until the model is there (or is not coming): light, outside the queue.
    watched = [c["model"], c["method"], c["settings"], timer]
    # the language's component may not have heard of the address yet
    js = "(method) => [method, window.Specscope.language()]"
    timer.tick(partial(_watch_load, engine, traces), [c["method"], lang], watched, js=js, **light)
    page.load(partial(_watch_load, engine, traces), [c["method"], lang], watched, js=js, **light)
    return c


def _stream(
    engine: Any, prompt, method, draft_len, temperature, top_p, seed, max_new, auto=False, settings=None, lang=DEFAULT, branch: object = None
):
    fields = (prompt, method, "auto" if auto is True else draft_len, temperature, top_p, seed, max_new)
    for ndjson, notice in live.run(engine, *fields, settings=settings, branch=branch, lang=lang):
        yield gr.skip() if ndjson is None else ndjson, notice


def _stopped(lang: Any, running: Any):
    return say(words.text(lang, "said.stopped")) if running is True else gr.skip()


def _settings_of(engine: Any, method: Any) -> str:
    return method_settings.value_for(method, live.details_of(engine, method))


def _method(engine: Any, name: Any):
    """A method was chosen, by its chip or by a recording: which settings it has."""
    chosen = next((m for m in engine.methods() if m.name == name), None)
    drafts = gr.skip() if chosen is None else gr.update(interactive="draft_len" in chosen.settings)
    return drafts, drafts, _settings_of(engine, name)


def opened(traces: Path, run: Any, lang: str) -> tuple[Any, Any]:
    """What the address asks to open: (player, notice); the controls follow the player. A name that no recording has is said in words."""
    if run is None:
        return gr.skip(), gr.skip()
    found = recordings.load(traces).get(run) if isinstance(run, str) else None
    if found is None:
        return gr.skip(), say(words.text(lang, "said.no_run"), "error")
    return found, say(words.text(lang, "said.recorded"))


def _watch_load(engine: Any, traces: Path, method: Any, lang: Any = DEFAULT):
    state, lang = engine.state(), words.clean(lang)
    notice = say(*live.load_sentence(state, lang))
    if state.phase not in ("ready", "failed"):
        return notice, gr.skip(), gr.skip(), gr.skip()
    choices = method_choices(engine, traces, lang)
    names = [name for _, name in choices]
    chosen = isinstance(method, str) and method in names and (method != "plain" or recordings.methods(traces))  # "plain" alone was no choice
    value = method if chosen else names[0] if names else None
    radio = gr.update(choices=choices) if chosen else gr.update(choices=choices, value=value)  # a recording may have set it meanwhile
    return notice, radio, _settings_of(engine, value), gr.Timer(active=False)
