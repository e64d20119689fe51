"""The registry of methods: name -> how to build the proposer, its settings, the draft it needs.

A new method adds an entry here, its name to core/methods/catalog.py, and its words to spec_ui/words/ and assets/js/words/*/methods.js.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.checkpoints.load import Pair
from core.errors import UserError
from core.methods import catalog, draft
from core.methods.base import Proposer
from core.methods.combined import Combined
from core.methods.eagle import Eagle
from core.methods.early_exit import EarlyExit
from core.methods.medusa import Medusa
from core.methods.prompt_lookup import PromptLookup
from core.methods.settings import Setting, complete
from core.methods.suffix import Suffix


@dataclass(frozen=True)
class Method:
    name: str                                       # core.methods.catalog has its label
    build: Callable[..., Proposer]                  # build(pair, **settings)
    settings: tuple[Setting, ...] = ()
    needs: str | None = None                        # the kind of draft it needs in Pair.drafts, None = none
    drafts: bool = True                             # whether it drafts at all

    @property
    def label(self) -> str:
        return catalog.LABELS[self.name]

    def proposer(self, pair: Pair, given: dict[str, Any] | None = None) -> Proposer:
        """Raises UserError for a setting that is unknown or out of range, or a draft that the pair does not have."""
        return self.build(pair, **complete(self.settings, given or {}, self.name))


METHODS = {m.name: m for m in (
    Method("draft", draft.build, draft.SETTINGS, needs="draft"),
    Method("eagle", Eagle.build, Eagle.settings, needs="eagle"),
    Method("medusa", Medusa.build, Medusa.settings, needs="medusa"),
    Method("lookup", PromptLookup.build, PromptLookup.settings),
    Method("suffix", Suffix.build, Suffix.settings),
    Method("lookup+draft", *Combined.builder(draft.build, draft.SETTINGS), needs="draft"),
    Method("lookup+eagle", *Combined.builder(Eagle.build, Eagle.settings), needs="eagle"),
    Method("early-exit", EarlyExit.build, EarlyExit.settings),
    Method("plain", lambda pair: Proposer(), drafts=False),
)}


def get(name: str) -> Method:
    """Raises UserError for an unknown name."""
    if name not in METHODS:
        raise UserError(f"There is no method {name!r}; known: {', '.join(METHODS)}.")
    return METHODS[name]


def available(pair: Pair) -> list[Method]:
    """The methods that this pair can run."""
    return [m for m in METHODS.values() if m.needs is None or m.needs in pair.drafts]


def need_given(pair: Pair, chosen: list[Method]) -> None:
    """Raises UserError if the user gave a draft that none of the chosen methods uses."""
    if pair.given is not None and all(m.drafts and m.needs != pair.given for m in chosen):
        raise UserError(f"The draft given with --draft is for --method {pair.given}; {', '.join(m.name for m in chosen)} would not use it.")


def all_settings() -> dict[str, Setting]:
    """The settings of all methods by name, for the command line. A name means the same in every method."""
    return {s.name: s for m in METHODS.values() for s in m.settings}


def default_words(name: str) -> str:
    """The default of a setting in words, with the methods whose default differs from the usual one."""
    by_value: dict[Any, list[str]] = {}
    for m in METHODS.values():
        for s in m.settings:
            if s.name == name:
                by_value.setdefault(s.default, []).append(m.name)
    usual, *others = sorted(by_value, key=lambda value: -len(by_value[value]))
    return "; ".join([f"default {usual}", *(f"{', '.join(by_value[value])}: {value}" for value in others)])
