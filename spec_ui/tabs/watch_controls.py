"""The controls of the Watch tab: what they offer, what they are called in each language, and what a recording sets them to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from core.methods import catalog
from core.runs import prompts
from spec_ui import words
from spec_ui.components import method_settings
from spec_ui.components.free import FreeCheckbox, FreeNumber, FreeRadio, FreeSlider
from spec_ui.components.notice import Notice
from spec_ui.server import limits, model_state, recordings
from spec_ui.server.notices import say
from spec_ui.words import DEFAULT

# What a recording sets, in the order of panelOf (assets/js).
PANEL = ("prompt", "example", "method", "draft_len", "auto", "temperature", "top_p", "max_new", "seed", "grammar")
# What has words of its own in each language.
LABELLED = (*PANEL, "run", "stop")


def method_choices(engine: Any, traces: Path, lang: str = DEFAULT) -> list[tuple[str, str]]:
    """(label, name) in the catalog's order: what the engine can run; before it is loaded, what has a recording too."""
    names = {m.name: m.label for m in engine.methods()}
    if engine.state().phase != "ready":
        names = {name: name for name in recordings.methods(traces)} | names
    table = words.table(lang)
    return [(table.get(f"method.{name}", names[name]), name) for name in sorted(names, key=catalog.in_order)]


def example_choices(lang: str = DEFAULT) -> list[tuple[str, str]]:
    table = words.table(lang)
    return [(table.get(f"example.{name}", name), name) for name in prompts.shown()]


def settings_of(engine: Any, method: Any) -> str:
    """The value of the component that draws a method's own settings."""
    return method_settings.value_for(method, model_state.details_of(engine, method))


def build(engine: Any, traces: Path, example: str | None, prompt: str, recorded: dict[str, Any]) -> dict[str, Any]:
    """The controls, laid out inside the open column, by name. `recorded`: the run facts of the recording on screen."""
    methods, said, c = method_choices(engine, traces), words.table(DEFAULT), {}
    names = [name for _, name in methods]
    first = recorded.get("method") if recorded.get("method") in names else next(iter(names), None)
    c["prompt"] = gr.Textbox(prompt, label=said["prompt.label"], lines=3, max_lines=8, elem_id="prompt", placeholder=said["prompt.placeholder"])
    c["example"] = FreeRadio(example_choices(), value=example, label=said["example.label"], elem_id="example", elem_classes="ss-chips")
    c["method"] = FreeRadio(methods, value=first, label=said["method.label"], elem_id="method", elem_classes="ss-chips")
    length, sampling = recorded.get("draft_len"), recorded.get("sampling", {})
    length = length if isinstance(length, int) and length > 0 else 4
    heat, top_p, most = sampling.get("temperature", 0.7), sampling.get("top_p", 1), recorded.get("max_new_tokens", 96)

    def slider(name: str, low: float, high: float, value: float, step: float, info: str | None = None) -> gr.Slider:
        label, elem_id = said[f"{name}.label"], name.replace("_", "-")
        return FreeSlider(low, high, value=value, step=step, label=label, info=info, elem_id=elem_id, buttons=[])

    c["draft_len"] = slider("draft_len", *limits.DRAFT_LEN, length, 1, said["draft_len.info"])
    c["auto"] = FreeCheckbox(True, label=said["auto.label"], elem_id="auto", container=False)
    c["settings"] = method_settings.MethodSettings(settings_of(engine, first), elem_id="settings")
    c["temperature"] = slider("temperature", *limits.TEMPERATURE, heat, 0.05)
    c["top_p"] = slider("top_p", 0.05, 1, top_p, 0.05)
    c["max_new"] = slider("max_new", *limits.NEW_TOKENS, most, 1)
    c["seed"] = FreeNumber(recorded.get("seed", 7), label=said["seed.label"], elem_id="seed", precision=None)
    c["grammar"] = gr.Textbox(
        "", label=said["grammar.label"], info=said["grammar.info"], lines=1, max_lines=6, elem_id="grammar", placeholder=said["grammar.placeholder"]
    )
    with gr.Column(elem_classes="ss-foot"):  # stays in sight when the controls are taller than the window
        with gr.Row(elem_classes="ss-runrow"):
            c["run"] = gr.Button(said["run"], variant="primary", elem_id="run", scale=3)
            c["stop"] = gr.Button(said["stop"], elem_id="stop", scale=1)
        c["notice"] = Notice(say(said["said.recorded"]) if example else None, elem_id="notice")
        c["model"] = Notice(elem_id="model-state")
    return c


def translated(engine: Any, traces: Path, lang: str) -> list[Any]:
    """One update for each of LABELLED."""
    table = words.table(lang)
    more = {
        "prompt": {"placeholder": table["prompt.placeholder"]},
        "example": {"choices": example_choices(lang)},
        "method": {"choices": method_choices(engine, traces, lang)},
        "draft_len": {"info": table["draft_len.info"]},
        "grammar": {"info": table["grammar.info"], "placeholder": table["grammar.placeholder"]},
    }
    return [
        gr.update(value=table[name]) if name in ("run", "stop") else gr.update(label=table[f"{name}.label"], **more.get(name, {}))
        for name in LABELLED
    ]
