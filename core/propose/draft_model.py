"""A small model of the target's vocabulary (or a part of it) drafts a chain, one token a step, all on the device."""
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core import probs
from core.cache import KVCache
from core.decoder import Decoder
from core.propose.base import Context, Draft, Proposer

if TYPE_CHECKING:
    from core.load import Pair


class DraftModel(Proposer):
    """Leviathan et al. 2023: q is the draft's own law under the run's sampling options, the tokens are drawn from it.

    token_map [rows of the head] gives the target id of each output row when the head is reduced; ids without a row have q = 0.
    """

    name = "draft"

    def __init__(self, model: Decoder, token_map: Tensor | None = None) -> None:
        self.model = model
        self.token_map = token_map
        self.max_positions = model.config.max_positions
        self.cache: KVCache | None = None

    @classmethod
    def build(cls, pair: Pair) -> DraftModel:
        return cls(*pair.draft_model())

    def begin(self, ctx: Context) -> None:
        self.cache = self.model.new_cache(min(ctx.capacity, self.max_positions))

    def end(self) -> None:
        self.cache = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.cache.capacity - len(ctx.tokens) + 1)     # token k is never fed, so k - 1 more positions are needed
        if k <= 0:
            return None
        greedy = ctx.sampling.greedy
        u = None if greedy else ctx.uniforms(k)
        seen = None if ctx.seen is None else ctx.seen.clone()
        tokens: list[Tensor] = []
        laws: list[Tensor] = []
        logits: list[Tensor] = []
        # everything not yet cached: after a fully accepted draft that is two tokens, since the last one was never fed
        feed = torch.tensor([ctx.tokens[self.cache.length:]], device=ctx.device)
        for i in range(k):
            hidden, _ = self.model.run(feed, self.cache)
            raw = self.model.logits(hidden[:, -1]).squeeze(0).to(ctx.dtype)
            if self.token_map is None:
                raw = raw[:ctx.vocab_size]                        # rows that only pad the draft's vocabulary
            law = probs.law(probs.scores(raw, ctx.sampling, None if seen is None else self._mapped(seen)), ctx.sampling)
            row = law.argmax(-1) if greedy else probs.draw(law, u[i])
            token = row if self.token_map is None else self.token_map[row]
            if seen is not None:
                seen.index_fill_(0, token, True)
            tokens.append(token)
            laws.append(law)
            logits.append(raw)
            feed = token.view(1, 1)
        return Draft(torch.stack(tokens), self._spread(torch.stack(laws), ctx, 0.0), self._spread(torch.stack(logits), ctx, -torch.inf))

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.cache.truncate(min(self.cache.length, len(ctx.tokens) - 1))

    def _mapped(self, seen: Tensor) -> Tensor:
        return seen[:self.model.config.vocab_size] if self.token_map is None else seen[self.token_map]

    def _spread(self, rows: Tensor, ctx: Context, fill: float) -> Tensor:
        """[k, head rows] -> [k, V] over the target's ids."""
        if self.token_map is None and rows.shape[-1] == ctx.vocab_size:
            return rows
        out = rows.new_full((rows.shape[0], ctx.vocab_size), fill)
        if self.token_map is None:                                # the draft's vocabulary ends earlier
            out[:, :rows.shape[-1]] = rows
        else:
            out[:, self.token_map] = rows
        return out
