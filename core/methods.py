"""The registry of methods: name -> how to build its proposer and what to tell people. A new proposer adds one entry."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import UserError
from core.load import Pair
from core.propose.base import Proposer
from core.propose.draft_model import DraftModel


@dataclass(frozen=True)
class Method:
    name: str
    label: str                              # what the page calls it
    note: str                               # one sentence for people
    build: Callable[[Pair], Proposer]
    settings: tuple[str, ...] = ()          # which settings of a request it reads
    needs: str | None = None                # the draft it needs in Pair.drafts, None = nothing
    lossless: bool = True


METHODS = {m.name: m for m in (
    Method("draft", "draft model", "A small model writes ahead; the target checks all of it in one pass.",
           lambda pair: DraftModel(*pair.draft_model()), ("draft_len",), needs="draft"),
    Method("plain", "nobody", "Plain decoding: one pass of the target for each token.", lambda pair: Proposer()),
)}


def get(name: str) -> Method:
    if name not in METHODS:
        raise UserError(f"There is no method {name!r}; known: {', '.join(METHODS)}.")
    return METHODS[name]


def available(pair: Pair) -> list[Method]:
    """The methods that this pair can run."""
    return [m for m in METHODS.values() if m.needs is None or m.needs in pair.drafts]
