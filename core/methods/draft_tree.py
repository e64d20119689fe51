"""A draft model that drafts a tree: several candidates at each depth, so that a rejection need not end the round.

Drawn by assets/js/watch/tree.js.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.methods.base import Context, Draft, Rules
from core.methods.chain import spread
from core.methods.draft_model import DraftModel
from core.models.cache import KVCache, Window
from core.models.decoder import Decoder
from core.models.host_copy import send
from core.sampling import probs
from core.sampling.tree import Tree, fixed


@dataclass(frozen=True)
class TreeLevels:
    """A region: one draft pass a level, over the tree so far. sizes: nodes of each level."""
    model: Decoder
    token_map: Tensor | None
    rules: Rules
    shape: tuple[int, ...]
    sizes: tuple[int, ...]

    def __call__(self, cache: KVCache | Window, feed: Tensor, u: Tensor | None, seen: Tensor | None) -> tuple:
        """feed [m] ids not read yet, u [N], seen [V] -> parts of the draft."""
        rules, levels = self.rules, len(self.shape)
        hidden, _ = self.model.run(feed[None], cache)
        base = cache.length
        hidden = hidden[0, -1:]
        tokens, laws, logits = [], [], []
        parents = fixed(self.shape, feed.device)
        for level in range(levels):
            above, size = sum(self.sizes[:level]), self.sizes[level]
            along = None
            if seen is not None:
                tree = Tree.of(parents[:above], level) if level else None
                along = probs.seen_along(seen, torch.cat(tokens), tree)[-hidden.shape[0]:] if level else seen[None]
            drawn, law, raw = self._children(self.model.logits(hidden), self.shape[level], None if u is None else u[above:above + size], along)
            tokens.append(drawn)
            laws.append(law)
            logits.append(raw)
            if level + 1 < levels:
                cache.truncate(base)                # a pass cannot mask what is cached: the nodes above go through again
                shape = Tree.of(parents[:above + size], level + 1).pass_shape(0)
                hidden, _ = self.model.run(torch.cat(tokens)[None], cache, shape)
                hidden = hidden[0, -size:]
        q = None if rules.sampling.greedy else spread(torch.cat(laws), rules.vocab_size, self.token_map, 0.0)
        raw = spread(torch.cat(logits), rules.vocab_size, self.token_map, -torch.inf) if rules.record else None
        return torch.cat(tokens), q, raw, parents, levels

    def _children(self, logits: Tensor, n: int, u: Tensor | None, seen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """logits [m, head rows], u [n*m], seen [m, V] of m parents -> n children each: target ids [m*n], laws and raw logits [m*n, rows]."""
        sampling, m = self.rules.sampling, logits.shape[0]
        raw = logits.to(self.rules.dtype)
        if self.token_map is None:
            raw = raw[:, :self.rules.vocab_size]
        if seen is not None:
            seen = seen[:, :raw.shape[1]] if self.token_map is None else seen[:, self.token_map]
        left = probs.scores(raw, sampling, seen)                    # drawn tokens sink to -inf
        law = None if u is None else probs.law(left, sampling)
        rows, laws = [], []
        for i in range(n):
            best = left.argmax(-1)
            if law is None:
                row = best
            else:
                # nothing left in the law (top-k smaller than n): the next likeliest token, deterministic
                mass = law.sum(-1, keepdim=True)
                q = torch.where(mass > 0, law / mass, torch.zeros_like(law).scatter_(1, best[:, None], 1.0))
                row = probs.draw(q, u[i * m:(i + 1) * m])
                laws.append(q)
                law = law.scatter(1, row[:, None], 0.0)
            left = left.scatter(1, row[:, None], -torch.inf)
            rows.append(row)
        token_rows = torch.stack(rows, 1).view(-1)
        law_rows = torch.stack(laws, 1).view(-1, raw.shape[1]) if laws else raw[:0]
        tokens = token_rows if self.token_map is None else self.token_map[token_rows]
        return tokens, law_rows, raw.repeat_interleave(n, 0)


class DraftTree(DraftModel):
    """The full tree of `shape` (candidates per depth).

    Sampling: siblings are drawn without replacement, each from the draft's law without its earlier siblings, renormalised, and that
    is its row of q (Jeon et al. 2024, RSD). Greedy: siblings are the likeliest tokens, q one-hot (None).
    """

    def __init__(self, model: Decoder, token_map: Tensor | None, shape: tuple[int, ...]) -> None:
        super().__init__(model, token_map)
        self.shape, self.levels = shape, len(shape)
        self.sizes = []                             # nodes of each level
        for branches in shape:
            self.sizes.append(branches * (self.sizes[-1] if self.sizes else 1))
        self.side_nodes = sum(self.sizes) - self.levels
        self.base: int | None = None                # of this round: cache length in front of the nodes

    def begin(self, ctx: Context) -> None:
        self.room = min(ctx.capacity, self.max_positions)
        self.cache = ctx.new_cache(self.model, self.room + self.side_nodes)
        self.base = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.room - len(ctx.tokens) + 1, self.levels)
        if k <= 0:
            return None
        feed, sizes = ctx.since(self.cache.length), tuple(self.sizes[:k])
        u = None if ctx.sampling.greedy else ctx.uniforms(sum(sizes))
        levels = TreeLevels(self.model, self.token_map, ctx.rules, self.shape[:k], sizes)
        base = self.cache.length + len(feed)
        out = ctx.runner.run(levels, self.cache, len(feed) + sum(sizes[:-1]), feed, u, ctx.seen, capture=len(feed) <= k + 1)
        self.base = base
        return Draft(*out)

    def observe(self, ctx: Context, path: list[int]) -> None:
        if self.base is not None:
            fed = self.cache.length - self.base                     # the last level never went through
            self.cache.gather(self.base, send([i for i in path if i < fed], ctx.device))
            self.base = None
        super().observe(ctx, path)
