"""A small model of the target's vocabulary (or a part of it) drafts a chain, one token a step, all on the device.

Drawn by assets/js/watch/cards.js, its p and q at each position by assets/js/distributions/bars.js.
"""
from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from core.grammar.walk import Walk
from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.methods.chain import Chain
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder

FEW = 2             # uncached tokens a round can have; more is a prompt, whose length hardly recurs, so its pass is not captured


@dataclass(frozen=True)
class DraftChain:
    """A captured function: k steps of the draft model."""
    model: Decoder
    token_map: Tensor | None
    sampling_ctx: SamplingContext
    k: int
    walk: Walk | None = None

    def __call__(self, cache: KVCache | GraphCacheView, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] uncached ids, u [k], seen [V] -> the fields of a Draft."""
        chain = Chain(self.sampling_ctx, u, seen, self.token_map, self.walk)
        for _ in range(self.k):
            hidden, _ = self.model.run(feed.clamp_max(self.model.config.vocab_size - 1)[None], cache)
            feed = chain.add(self.model.logits(hidden[:, -1])[0])
            if chain.over:
                break
        return chain.parts()


def not_ours(model: object) -> str | None:
    """Why drafts of this model cannot be captured, in words; None if they can."""
    return None if isinstance(model, Decoder) else "the draft runs through transformers"


class DraftModel(Proposer):
    """Draws tokens from the draft's own distribution q under the run's sampling options (Leviathan et al. 2023; Chen et al. 2023).

    token_map [R], of a reduced head with R rows: the target id of each row. Ids without a row have q = 0.
    Target ids that are outside the draft's vocabulary are fed as its last id. Drafts get worse by that, the output does not.
    """

    name = "draft"

    def __init__(self, model: Decoder, token_map: Tensor | None = None) -> None:
        self.model = model
        self.token_map = token_map
        self.max_positions = model.config.max_positions
        self.direct = not_ours(model)
        self.cache: KVCache | None = None

    def begin(self, ctx: Context) -> None:
        self.room = min(ctx.capacity, self.max_positions)
        self.cache = ctx.new_cache(self.model, self.room)

    def end(self) -> None:
        self.cache = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.room - len(ctx.tokens) + 1)               # the last drafted token is not fed, so k tokens need k - 1 positions
        if k <= 0:
            return None
        # after a fully accepted draft two tokens are uncached: the last drafted one, which was not fed, and the bonus token
        feed = ctx.uncached(self.cache.length)
        u = ctx.randomness(k, k)
        walk = ctx.walk(self.room - len(ctx.tokens) + 1)
        chain = DraftChain(self.model, self.token_map, ctx.sampling_ctx, k, walk)
        capture = self.direct is None and walk is None and len(feed) <= FEW
        return Draft(*ctx.runner.run(chain, self.cache, len(feed) + k - 1, feed, u, ctx.seen, capture=capture))

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.cache.truncate(min(self.cache.length, len(ctx.tokens) - 1))
