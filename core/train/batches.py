"""Cached features -> batches, in an order that depends only on seed and epoch, so that a resumed run sees the same batches."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.train.cache import FeatureCache

BUCKET = 8      # batches that are filled together, sorted by length, so that each has texts of similar length


@dataclass
class Batch:
    """B texts padded to L tokens. `counts[b, t]`: the target wrote token t + 1 of text b, so the distribution at t is to be learned."""
    ids: Tensor         # [B, L] int64
    counts: Tensor      # [B, L] bool
    hidden_states: Tensor   # [B, L, T, H] bfloat16, see core.train.cache
    rows: Tensor        # [B, L, K] int64: the likeliest ids, as rows of the draft's head
    probs: Tensor       # [B, L, K] float32: their probabilities under the target; 0 where the draft has no such row
    best: Tensor        # [B, L] int64: the target's likeliest id

    @property
    def tokens(self) -> int:
        """The number of positions that count."""
        return int(self.counts.sum())


class Texts:
    """The texts of several caches as one list. token_ids [V]: the draft's vocabulary, which may be a part of the caches'."""

    def __init__(self, caches: Sequence[FeatureCache], held_out: Sequence[Sequence[bool]], token_ids: Tensor, device: torch.device | str) -> None:
        self.caches, self.device = caches, device
        self.training = [(c, i) for c, cache in enumerate(caches) for i in range(cache.done) if not held_out[c][i]]
        self.held_out = [(c, i) for c, cache in enumerate(caches) for i in range(cache.done) if held_out[c][i]]
        row = torch.searchsorted(token_ids, caches[0].token_ids).clamp(max=len(token_ids) - 1)
        self.remap = torch.where(token_ids[row] == caches[0].token_ids, row, -1)      # row in the caches -> row of the draft's head, -1 = none

    def batch(self, which: Sequence[tuple[int, int]]) -> Batch:
        """which: (cache, text) of each text."""
        spans = [(self.caches[c], int(self.caches[c].starts[i]), int(self.caches[c].starts[i + 1]), int(self.caches[c].prompts[i])) for c, i in which]
        longest = max(end - start for _, start, end, _ in spans)

        def padded(name: str, dtype: torch.dtype) -> Tensor:
            like = getattr(self.caches[0], name)
            out = torch.zeros(len(spans), longest, *like.shape[1:], dtype=dtype)
            for row, (cache, start, end, _) in enumerate(spans):
                out[row, :end - start] = getattr(cache, name)[start:end]
            return out.to(self.device)

        counts = torch.zeros(len(spans), longest, dtype=torch.bool)
        for row, (_, start, end, prompt) in enumerate(spans):
            counts[row, prompt - 1:end - start - 1] = True
        rows = self.remap.to(self.device)[padded("rows", torch.int64)]
        probs = padded("logps", torch.float32).exp() * (rows >= 0) * counts.to(self.device)[..., None]
        return Batch(padded("ids", torch.int64), counts.to(self.device), padded("states", torch.bfloat16), rows.clamp(min=0), probs,
                     padded("best", torch.int64))

    def _length(self, item: tuple[int, int]) -> int:
        starts = self.caches[item[0]].starts
        return int(starts[item[1] + 1] - starts[item[1]])

    def order(self, epoch: int, size: int, seed: int) -> list[list[tuple[int, int]]]:
        """One epoch over the training texts as batches of `size` texts of similar length, in shuffled order."""
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        shuffled = [self.training[i] for i in torch.randperm(len(self.training), generator=generator).tolist()]
        batches = []
        for a in range(0, len(shuffled), size * BUCKET):
            bucket = sorted(shuffled[a:a + size * BUCKET], key=self._length)
            batches += [bucket[b:b + size] for b in range(0, len(bucket), size)]
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
