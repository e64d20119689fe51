"""What the engine says of itself, for the page: whether the live model is ready, which methods it has and which settings they have."""

from __future__ import annotations

from typing import Any

from spec_ui import words
from spec_ui.words import DEFAULT


def _share(state: Any) -> str:
    return f" ({round(100 * state.progress)} %)" if state.progress is not None else ""


def load_sentence(state: Any, lang: str = DEFAULT) -> tuple[str, str]:
    """(sentence, kind) for an engine's state."""
    if state.phase == "ready":
        return words.text(lang, "model.ready_hub" if state.hub else "model.ready"), "info"
    if state.phase == "failed":
        return words.text(lang, "model.failed", message=state.message), "error"
    key = "model.downloading" if state.phase == "downloading" else "model.loading"
    return words.text(lang, key, share=_share(state)), "busy"


def not_ready(state: Any, lang: str = DEFAULT) -> str | None:
    """Why a run cannot start now, in one sentence; None when it can."""
    if state.phase == "ready":
        return None
    if state.phase == "failed":
        return load_sentence(state, lang)[0]
    return words.text(lang, "model.not_ready", share=_share(state))


def method_names(engine: Any) -> list[str]:
    return [m.name for m in engine.methods()]


def details_of(engine: Any, method: object) -> list[dict[str, Any]]:
    """The method's own settings as the engine describes them; none where it does not say."""
    chosen = next((m for m in engine.methods() if m.name == method), None)
    return [d for d in getattr(chosen, "details", None) or [] if d.get("name") != "draft_len"]
