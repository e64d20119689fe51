"""Prompt lookup (n-gram): drafts what followed the last few tokens earlier in the prompt or output. It needs no model and costs no time.

Drawn by assets/js/watch/cards.js.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import UserError
from core.methods.base import Context, Draft, Proposer
from core.methods.settings import Setting
from core.models.host_copy import to_device

if TYPE_CHECKING:
    from core.checkpoints.load import Pair


class NgramIndex:
    """Every n-gram of a growing text -> the position after it. Each token costs one dictionary entry per n, however long the text is.

    The n-gram at the end of the text is entered only when a token follows it, so that a look-up never finds the end itself.
    """

    def __init__(self, low: int, high: int, recent: bool) -> None:
        self.low, self.high, self.recent = low, high, recent
        self.positions: dict[tuple[int, ...], int] = {}
        self.read = 0       # tokens entered so far

    def extend(self, tokens: list[int]) -> None:
        """Enter tokens[read:]."""
        for end in range(max(self.read, 1), len(tokens)):
            for n in range(self.low, min(self.high, end) + 1):
                key = tuple(tokens[end - n:end])
                if self.recent or key not in self.positions:
                    self.positions[key] = end
        self.read = len(tokens)

    def find(self, tokens: list[int]) -> int | None:
        """The position after an earlier occurrence of the longest known n-gram at the end of `tokens`; None if there is none."""
        for n in range(min(self.high, len(tokens)), self.low - 1, -1):
            position = self.positions.get(tuple(tokens[-n:]))
            if position is not None:
                return position
        return None


class PromptLookup(Proposer):
    """Prompt lookup decoding (Saxena 2023); LLMA (Yang et al. 2023). A deterministic draft: q is one-hot.

    Where the continuation of a match reaches the end of the text, it goes on with the tokens just drafted (as LZ77 does), so that a
    repeating text is drafted to the full length.
    """

    name = "lookup"
    settings = (
        Setting("ngram_max", int, 3, "longest run of tokens looked for, tried first", 1, 16),
        Setting("ngram_min", int, 1, "shortest run of tokens that counts as a match", 1, 16),
        Setting("lookup_match", str, "recent", "which of several matches: first or recent", choices=("first", "recent")),
    )

    def __init__(self, ngram_max: int = 3, ngram_min: int = 1, lookup_match: str = "recent") -> None:
        """Raises UserError if ngram_min is more than ngram_max."""
        if ngram_min > ngram_max:
            raise UserError(f"--ngram-min {ngram_min} is more than --ngram-max {ngram_max}.", "more_than", setting="ngram_min", other="ngram_max",
                            low=ngram_min, high=ngram_max)
        self.low, self.high, self.recent = ngram_min, ngram_max, lookup_match == "recent"
        self.index: NgramIndex | None = None

    @classmethod
    def build(cls, pair: Pair, **settings) -> PromptLookup:
        return cls(**settings)

    def begin(self, ctx: Context) -> None:
        self.index = NgramIndex(self.low, self.high, self.recent)

    def end(self) -> None:
        self.index = None

    def finds(self, tokens: list[int]) -> int | None:
        """The position after an earlier occurrence of the end of `tokens`; None if there is none."""
        self.index.extend(tokens)
        return self.index.find(tokens)

    def propose(self, ctx: Context, k: int) -> Draft | None:
        tokens = ctx.tokens
        position = self.finds(tokens)
        if position is None:
            return None
        period = len(tokens) - position
        return Draft(to_device([tokens[position + i % period] for i in range(k)], ctx.device))
