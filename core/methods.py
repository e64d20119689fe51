"""The registry of methods: name -> how to build its proposer and what to tell people. A new proposer adds one entry."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from core.load import Pair
from core.propose.base import Proposer
from core.propose.combined import Combined
from core.propose.draft_model import DraftModel
from core.propose.eagle import Eagle
from core.propose.early_exit import EarlyExit
from core.propose.medusa import Medusa
from core.propose.prompt_lookup import PromptLookup
from core.propose.suffix import Suffix
from core.settings import Setting, complete


@dataclass(frozen=True)
class Method:
    name: str
    label: str                                      # what the page calls it
    note: str                                       # one sentence for people
    build: Callable[..., Proposer]                  # build(pair, **settings)
    settings: tuple[Setting, ...] = ()
    needs: str | None = None                        # the draft it needs in Pair.drafts, None = nothing
    drafts: bool = True                             # whether --draft-len means anything

    def proposer(self, pair: Pair, given: dict[str, Any] | None = None) -> Proposer:
        """Raises UserError for a setting that is unknown or out of range, or a draft that the pair does not have."""
        return self.build(pair, **complete(self.settings, given or {}, self.name))


METHODS = {m.name: m for m in (
    Method("draft", "draft model", "A small model writes ahead; the target checks all of it in one pass.", DraftModel.build,
           DraftModel.settings, needs="draft"),
    Method("lookup", "earlier text", "What followed the same few tokens earlier in the prompt or answer is proposed again; no model, no cost.",
           PromptLookup.build, PromptLookup.settings),
    Method("suffix", "habits", "What most often followed the same tokens, in this text and in this model's earlier answers.", Suffix.build,
           Suffix.settings),
    Method("lookup+draft", "earlier text or draft model", "Earlier text where a long match is found, else the draft model.",
           *Combined.builder(DraftModel), needs="draft"),
    Method("eagle", "EAGLE", "A one-layer head reads the target's inner states and writes ahead.", Eagle.build, Eagle.settings, needs="eagle"),
    Method("lookup+eagle", "earlier text or EAGLE", "Earlier text where a long match is found, else the EAGLE head.", *Combined.builder(Eagle),
           needs="eagle"),
    Method("medusa", "Medusa", "Small heads on the target's last state guess several tokens at once.", Medusa.build, Medusa.settings,
           needs="medusa"),
    Method("early-exit", "own layers", "The target drafts with some of its own layers left out; needs nothing more, pays only for targets "
           "trained to exit early.", EarlyExit.build, EarlyExit.settings),
    Method("plain", "nobody", "Plain decoding: one pass of the target for each token.", lambda pair: Proposer(), drafts=False),
)}


def get(name: str) -> Method:
    if name not in METHODS:
        raise UserError(f"There is no method {name!r}; known: {', '.join(METHODS)}.")
    return METHODS[name]


def available(pair: Pair) -> list[Method]:
    """The methods that this pair can run."""
    return [m for m in METHODS.values() if m.needs is None or m.needs in pair.drafts]


def all_settings() -> dict[str, Setting]:
    """Every method's settings by name, for the command line. Methods that share a name share its meaning."""
    return {s.name: s for m in METHODS.values() for s in m.settings}
