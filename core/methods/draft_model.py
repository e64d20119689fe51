"""A small model of the target's vocabulary (or a part of it) drafts a chain, one token a step, all on the device."""
from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.methods.chain import Chain
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder

FEW = 2             # tokens a round may have to read: more is a prompt, whose pass fits no other


@dataclass(frozen=True)
class DraftChain:
    """A captured function: k steps of the draft model."""
    model: Decoder
    token_map: Tensor | None
    sampling_ctx: SamplingContext
    k: int

    def __call__(self, cache: KVCache | GraphCacheView, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] ids not read yet, u [k], seen [V] -> parts of the draft."""
        chain = Chain(self.sampling_ctx, u, seen, self.token_map)
        feed = feed.clamp_max(self.model.config.vocab_size - 1)
        for _ in range(self.k):
            hidden, _ = self.model.run(feed[None], cache)
            feed = chain.add(self.model.logits(hidden[:, -1])[0])
        return chain.parts()


def not_ours(model: object) -> str | None:
    """Why a draft on this model cannot be captured."""
    return None if isinstance(model, Decoder) else "the draft runs through transformers"


class DraftModel(Proposer):
    """Leviathan et al. 2023: q is the draft's own distribution under the run's sampling options, the tokens are drawn from it.

    token_map [rows of the head] gives the target id of each output row when the head is reduced; ids without a row have q = 0.
    Ids of the target behind the end of the draft's vocabulary are read as its last id: the draft may then err, the output cannot.
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
        k = min(k, self.room - len(ctx.tokens) + 1)               # token k is never fed, so k - 1 more positions are needed
        if k <= 0:
            return None
        # everything not yet cached: after a fully accepted draft that is two tokens, since the last one was never fed
        feed = ctx.uncached(self.cache.length)
        u = None if ctx.sampling.greedy else ctx.uniforms(k)
        chain = DraftChain(self.model, self.token_map, ctx.sampling_ctx, k)
        return Draft(*ctx.runner.run(chain, self.cache, len(feed) + k - 1, feed, u, ctx.seen, capture=self.direct is None and len(feed) <= FEW))

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.cache.truncate(min(self.cache.length, len(ctx.tokens) - 1))
