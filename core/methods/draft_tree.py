"""A draft model that drafts a tree: several candidates at each depth, so that a rejection need not end the round.

Drawn by assets/js/watch/tree.js.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.methods.base import Context, Draft, SamplingContext
from core.methods.chain import scatter_to_vocab
from core.methods.draft_model import DraftModel
from core.methods.static_tree import StaticTree
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder
from core.models.host_copy import constant, to_device
from core.sampling import probs, race
from core.sampling.tree import Tree


@dataclass(frozen=True)
class TreeLevels:
    """A captured function: one pass of the draft model per level, over the tree so far. sizes: nodes of each level."""
    model: Decoder
    token_map: Tensor | None
    sampling_ctx: SamplingContext
    shape: tuple[int, ...]
    sizes: tuple[int, ...]

    def __call__(self, cache: KVCache | GraphCacheView, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] uncached ids, u [N] uniforms or the noise [levels, V] of a coupled run, seen [V] -> the fields of a Draft."""
        sampling_ctx, levels = self.sampling_ctx, len(self.shape)
        hidden, _ = self.model.run(feed[None], cache)
        base = cache.length
        hidden = hidden[0, -1:]
        tokens, dists, logits = [], [], []
        parents = constant(StaticTree.full(self.shape).parents, feed.device)
        for level in range(levels):
            above, size = sum(self.sizes[:level]), self.sizes[level]
            before = None                           # the ids in each parent's prefix
            if seen is not None:
                tree = Tree.of(parents[:above], level) if level else None
                before = probs.seen_before(seen, torch.cat(tokens), tree)[-hidden.shape[0]:] if level else seen[None]
            own = u if u is None else u[level] if sampling_ctx.coupled else u[above:above + size]
            drawn, dist, raw = self._children(self.model.logits(hidden), self.shape[level], own, before)
            tokens.append(drawn)
            dists.append(dist)
            logits.append(raw)
            if level + 1 < levels:
                cache.truncate(base)                # a pass cannot mask cached nodes, so it feeds all nodes so far again
                shape = Tree.of(parents[:above + size], level + 1).pass_shape(0)
                hidden, _ = self.model.run(torch.cat(tokens)[None], cache, shape)
                hidden = hidden[0, -size:]
        q = None if sampling_ctx.sampling.greedy else scatter_to_vocab(torch.cat(dists), sampling_ctx.vocab_size, self.token_map, 0.0)
        raw = scatter_to_vocab(torch.cat(logits), sampling_ctx.vocab_size, self.token_map, -torch.inf) if sampling_ctx.record else None
        return torch.cat(tokens), q, raw, parents, levels

    def _children(self, logits: Tensor, n: int, u: Tensor | None, seen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """logits [m, R], u [n*m] or noise [V], seen [m, V] of m parents -> n children each: ids [m*n], q (greedy: empty), raw logits [m*n, R]."""
        sampling, m = self.sampling_ctx.sampling, logits.shape[0]
        raw = logits.to(self.sampling_ctx.dtype)
        if self.token_map is None:
            raw = raw[:, :self.sampling_ctx.vocab_size]
        if seen is not None:
            seen = seen[:, :raw.shape[1]] if self.token_map is None else seen[:, self.token_map]
        left = probs.scores(raw, sampling, seen)                    # siblings drawn already become -inf
        dist = None if u is None else probs.probabilities(left, sampling)
        noise = race.of_rows(u, raw.shape[1], self.token_map) if u is not None and self.sampling_ctx.coupled else None
        rows, dists = [], []
        for i in range(n):
            best = left.argmax(-1)
            if dist is None:
                row = best
            else:
                # no probability is left where fewer than n tokens have any, as with top-k below n: then the likeliest other token, q one-hot
                mass = dist.sum(-1, keepdim=True)
                q = torch.where(mass > 0, dist / mass, torch.zeros_like(dist).scatter_(1, best[:, None], 1.0))
                row = probs.draw(q, u[i * m:(i + 1) * m]) if noise is None else race.winner(q, noise)
                dists.append(q)
                dist = dist.scatter(1, row[:, None], 0.0)
            left = left.scatter(1, row[:, None], -torch.inf)
            rows.append(row)
        token_rows = torch.stack(rows, 1).view(-1)
        q_rows = torch.stack(dists, 1).view(-1, raw.shape[1]) if dists else raw[:0]
        tokens = token_rows if self.token_map is None else self.token_map[token_rows]
        return tokens, q_rows, raw.repeat_interleave(n, 0)


class DraftTree(DraftModel):
    """Drafts the full tree of `shape`: shape[d] children below every node of depth d.

    With sampling, siblings are drawn without replacement (RSD, Jeon et al. 2024): each one's row of q is the draft's distribution
    without its earlier siblings, renormalised. Greedy: siblings are the likeliest tokens, q one-hot (None).
    """

    def __init__(self, model: Decoder, token_map: Tensor | None, shape: tuple[int, ...]) -> None:
        super().__init__(model, token_map)
        self.shape, self.levels = shape, len(shape)
        self.sizes = []                             # nodes of each level
        for branches in shape:
            self.sizes.append(branches * (self.sizes[-1] if self.sizes else 1))
        self.side_nodes = sum(self.sizes) - self.levels
        self.base: int | None = None                # of this round: cache length before the drafted nodes

    def begin(self, ctx: Context) -> None:
        self.room = min(ctx.capacity, self.max_positions)
        self.cache = ctx.new_cache(self.model, self.room + self.side_nodes)
        self.base = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.room - len(ctx.tokens) + 1, self.levels)
        if k <= 0:
            return None
        feed, sizes = ctx.uncached(self.cache.length), tuple(self.sizes[:k])
        u = ctx.randomness(sum(sizes), k)
        levels = TreeLevels(self.model, self.token_map, ctx.sampling_ctx, self.shape[:k], sizes)
        base = self.cache.length + len(feed)
        out = ctx.runner.run(levels, self.cache, len(feed) + sum(sizes[:-1]), feed, u, ctx.seen, capture=len(feed) <= k + 1)
        self.base = base
        return Draft(*out)

    def observe(self, ctx: Context, path: list[int]) -> None:
        if self.base is not None:
            fed = self.cache.length - self.base                     # nodes in the cache: the last level was not fed
            self.cache.gather(self.base, to_device([i for i in path if i < fed], ctx.device))
            self.base = None
        super().observe(ctx, path)
