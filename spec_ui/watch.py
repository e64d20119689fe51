"""The Watch tab: controls at the left, the player at the right. Playing a recording asks the server for nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from spec_ui import examples, limits, live, recordings
from spec_ui.notice import Notice, say
from spec_ui.player import TracePlayer

RECORDED = "Playing a recorded run."


class FreeSlider(gr.Slider):
    """A slider whose bounds are refused in our own words (limits.py), not in a pop-up."""

    is_template = True

    def preprocess(self, payload):
        return payload


class FreeRadio(gr.Radio):
    is_template = True

    def preprocess(self, payload):
        return payload


class FreeNumber(gr.Number):
    is_template = True

    def preprocess(self, payload):
        return payload


# What the engine calls its methods, for the recordings that are there before it is (core.methods needs torch).
LABELS = {
    "draft": "draft model",
    "plain": "nobody",
    "lookup": "earlier text",
    "suffix": "habits",
    "early-exit": "own layers",
    "medusa": "Medusa",
    "eagle": "EAGLE",
}


def method_choices(engine: Any, traces: Path) -> list[tuple[str, str]]:
    """(label, name): what the engine can run; before it is loaded, what has a recording too. Plain decoding comes last."""
    live_ = [(m.label, m.name) for m in engine.methods()]
    names = {name for _, name in live_}
    recorded = [] if engine.state().phase == "ready" else [(LABELS.get(m, m), m) for m in recordings.methods(traces) if m not in names]
    return sorted(recorded + live_, key=lambda choice: choice[1] == "plain")


def _controls(engine: Any, traces: Path, example: str | None, prompt: str) -> dict[str, Any]:
    methods = method_choices(engine, traces)
    c: dict[str, Any] = {}
    c["prompt"] = gr.Textbox(
        prompt, label="Prompt", lines=3, max_lines=8, elem_id="prompt", placeholder="Ask the small model something simple, in English."
    )
    c["example"] = FreeRadio(list(examples.load()), value=example, label="Examples", elem_id="example", elem_classes="ss-chips")
    c["method"] = FreeRadio(methods, value=methods[0][1] if methods else None, label="Who proposes", elem_id="method", elem_classes="ss-chips")
    c["draft_len"] = FreeSlider(*limits.DRAFT_LEN, value=4, step=1, label="Draft length", elem_id="draft-len", buttons=[])
    c["temperature"] = FreeSlider(*limits.TEMPERATURE, value=0.7, step=0.05, label="Temperature (0 is greedy)", elem_id="temperature", buttons=[])
    c["top_p"] = FreeSlider(0.05, 1, value=1, step=0.05, label="Top-p", elem_id="top-p", buttons=[])
    c["max_new"] = FreeSlider(*limits.NEW_TOKENS, value=96, step=1, label="New tokens at most", elem_id="max-new", buttons=[])
    c["seed"] = FreeNumber(7, label="Seed", elem_id="seed", precision=None)
    with gr.Column(elem_classes="ss-foot"):  # stays in sight when the controls are taller than the window
        with gr.Row(elem_classes="ss-runrow"):
            c["run"] = gr.Button("Run", variant="primary", elem_id="run", scale=3)
            c["stop"] = gr.Button("Stop", elem_id="stop", scale=1)
        c["notice"] = Notice(say(RECORDED) if example else "{}", elem_id="notice")
        c["model"] = Notice(elem_id="model-state")
    return c


def build(page: gr.Blocks, engine: Any, traces: Path) -> None:
    """Lays the tab out inside the open Blocks and wires it. `traces`: the folder of recorded runs."""
    example, recording = recordings.first(traces)
    prompt = recordings.prompt_of(recording) or next(iter(examples.load().values()))
    with gr.Row(elem_classes="ss-page"):
        with gr.Column(scale=0, min_width=288, elem_classes="ss-aside"):
            c = _controls(engine, traces, example, prompt)
        with gr.Column(scale=1, min_width=0, elem_classes="ss-main"):
            player = TracePlayer(recording, elem_id="player")
    timer = gr.Timer(1.0)
    light = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}

    fields = [c[name] for name in ("prompt", "method", "draft_len", "temperature", "top_p", "seed", "max_new")]
    running = c["run"].click(
        partial(_stream, engine),
        fields,
        [player, c["notice"]],
        concurrency_id="model",
        concurrency_limit=1,
        show_progress="minimal",
        show_progress_on=[c["notice"]],
        trigger_mode="once",
        api_name="run",
    )
    c["run"].click(None, js="() => window.Specscope.started()", **light)
    c["stop"].click(lambda: say("Stopped. What was decoded so far stays here."), None, c["notice"], cancels=[running], **light)
    c["example"].input(partial(_choose, engine, traces), [c["example"], c["method"]], [c["prompt"], player, c["notice"]], **light)
    c["prompt"].input(None, None, c["example"], js="() => null", **light)
    c["method"].input(partial(_method, engine, traces), [c["method"], c["example"]], [c["draft_len"], player, c["notice"]], **light)
    # On opening and then once a second until the model is there (or is not coming): light, outside the queue.
    gr.on([timer.tick, page.load], partial(_watch_load, engine, traces), c["method"], [c["model"], c["method"], timer], **light)


def _stream(engine: Any, prompt, method, draft_len, temperature, top_p, seed, max_new):
    fields = (prompt, method, draft_len, temperature, top_p, seed, max_new)
    for ndjson, notice in live.run(engine, *fields):
        yield gr.skip() if ndjson is None else ndjson, notice


def _choose(engine: Any, traces: Path, name: Any, method: Any):
    """An example chip: its prompt, and its recording as long as there is no live model to run it."""
    known = examples.load()
    if not isinstance(name, str) or name not in known:
        return gr.skip(), gr.skip(), say("Choose one of the examples shown.", "error")
    if engine.state().phase == "ready":
        return known[name], gr.skip(), say("Press Run to decode this prompt live.")
    recording = recordings.pick(name, method if isinstance(method, str) else "draft", traces)
    if recording is None:
        return known[name], gr.skip(), say("There is no recorded run of this example yet.")
    return known[name], recording, say(RECORDED)


def _method(engine: Any, traces: Path, name: Any, example: Any):
    """A method: which settings it has, what it is, and (with no live model) its recording of the example chosen."""
    chosen = next((m for m in engine.methods() if m.name == name), None)
    ready = engine.state().phase == "ready"
    if chosen is None and (ready or name not in recordings.methods(traces)):
        return gr.skip(), gr.skip(), say("Choose one of the methods shown.", "error")
    recording = None if ready or not isinstance(example, str) else recordings.pick(example, name, traces, exact=True)
    note = say(RECORDED) if recording else gr.skip()
    if chosen is None:
        return gr.skip(), recording or gr.skip(), note
    if not recording and chosen.note:
        note = say(chosen.note if chosen.lossless else f"{chosen.note} This method is lossy: its output law differs from the target's.")
    return gr.update(interactive="draft_len" in chosen.settings), recording or gr.skip(), note


def _watch_load(engine: Any, traces: Path, method: Any):
    state = engine.state()
    notice = say(*live.load_sentence(state))
    if state.phase not in ("ready", "failed"):
        return notice, gr.skip(), gr.skip()
    choices = method_choices(engine, traces)
    names = [name for _, name in choices]
    chosen = isinstance(method, str) and method in names and (method != "plain" or recordings.methods(traces))  # "plain" alone was no choice
    value = method if chosen else names[0] if names else None
    return notice, gr.update(choices=choices, value=value), gr.Timer(active=False)
