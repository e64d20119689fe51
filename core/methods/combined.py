"""Two proposers in one: the lookup where its match is long enough, the draft model or head everywhere else.

Drawn by assets/js/watch/cards.js, a tree by assets/js/watch/tree.js.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.methods.base import Context, Draft, Proposer, TargetPass
from core.methods.prompt_lookup import PromptLookup
from core.methods.settings import Setting
from core.models.target import Target

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

MINIMUM = Setting("lookup_min", int, 3, "shortest match for which the lookup goes before the draft", 1, 16)


class Combined(Proposer):
    """`first` proposes when it can, else `second`; both see every round, so that the caches of neither fall behind.

    After a round that `first` drafted, `second` observes an empty path, since none of its own tokens were accepted.
    """

    def __init__(self, first: Proposer, second: Proposer) -> None:
        self.first, self.second = first, second
        self.name = f"{first.name}+{second.name}"
        self.aux_layers = second.aux_layers
        self.side_nodes = max(first.side_nodes, second.side_nodes)
        self.levels, self.adaptive = second.levels, second.adaptive
        self.direct = second.direct
        self.chosen = self.second

    @classmethod
    def builder(cls, build_second: Callable[..., Proposer], settings: tuple[Setting, ...]) -> tuple:
        """(build, settings) for the registry: the lookup before what `build_second` makes with its `settings`."""
        def build(pair: Pair, lookup_min: int, lookup_match: str, **given) -> Combined:
            return cls(PromptLookup(max(lookup_min, 3), lookup_min, lookup_match), build_second(pair, **given))

        match = next(s for s in PromptLookup.settings if s.name == "lookup_match")
        return build, (MINIMUM, match, *settings)

    @property
    def costly(self) -> Proposer:
        return self.second

    def part(self, ctx: Context) -> str:
        return self.first.name if self.first.finds(ctx.tokens) else ""

    def begin(self, ctx: Context) -> None:
        self.first.begin(ctx)
        self.second.begin(ctx)

    def forget(self) -> None:
        self.first.forget()
        self.second.forget()

    def end(self) -> None:
        self.first.end()
        self.second.end()

    def propose(self, ctx: Context, k: int) -> Draft | None:
        self.chosen = self.first
        draft = self.first.propose(ctx, k) if ctx.without != self.first.name else None
        if draft is None or not ctx.fits(draft):
            self.chosen = self.second
            draft = self.second.propose(ctx, k)
        return draft

    def target_pass(self, target: Target) -> TargetPass:
        return self.second.target_pass(target) if self.chosen is self.second else super().target_pass(target)

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.first.observe(ctx, path if self.chosen is self.first else [])
        self.second.observe(ctx, path if self.chosen is self.second else [])
