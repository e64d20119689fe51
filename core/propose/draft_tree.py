"""A draft model that drafts a tree: several candidates at each depth, so that a rejection need not end the round."""
from __future__ import annotations

import torch
from torch import Tensor

from core import probs
from core.decoder import Decoder
from core.propose.base import Context, Draft
from core.propose.chain import spread
from core.propose.draft_model import DraftModel
from core.tree import Tree, fixed


class DraftTree(DraftModel):
    """The full tree of `shape` (candidates per depth). One draft pass a level, over the tree so far.

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
        self.cache = self.model.new_cache(self.room + self.side_nodes)
        self.base = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        k = min(k, self.room - len(ctx.tokens) + 1, self.levels)
        if k <= 0:
            return None
        hidden, _ = self.model.run(torch.tensor([ctx.tokens[self.cache.length:]], device=ctx.device), self.cache)
        self.base = self.cache.length
        hidden = hidden[0, -1:]
        tokens, laws, logits = [], [], []
        parents = fixed(self.shape[:k], ctx.device)
        for level in range(k):
            above = sum(self.sizes[:level])
            seen = None
            if ctx.seen is not None:
                tree = Tree.of(parents[:above], level) if level else None
                seen = probs.seen_along(ctx.seen, torch.cat(tokens), tree)[-hidden.shape[0]:] if level else ctx.seen[None]
            drawn, law, raw = self._children(ctx, self.model.logits(hidden), self.shape[level], seen)
            tokens.append(drawn)
            laws.append(law)
            logits.append(raw)
            if level + 1 < k:
                so_far = above + self.sizes[level]
                self.cache.truncate(self.base)      # a pass cannot mask what is cached: the nodes above go through again
                shape = Tree.of(parents[:so_far], level + 1).pass_shape(0)
                hidden, _ = self.model.run(torch.cat(tokens)[None], self.cache, shape)
                hidden = hidden[0, -self.sizes[level]:]
        q = None if ctx.sampling.greedy else spread(torch.cat(laws), ctx.vocab_size, self.token_map, 0.0)
        return Draft(torch.cat(tokens), q, spread(torch.cat(logits), ctx.vocab_size, self.token_map, -torch.inf), parents, k)

    def _children(self, ctx: Context, logits: Tensor, n: int, seen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """logits [m, head rows], seen [m, V] of m parents -> n children each: target ids [m*n], laws and raw logits [m*n, rows]."""
        raw = logits.to(ctx.dtype)
        if self.token_map is None:
            raw = raw[:, :ctx.vocab_size]
        if seen is not None:
            seen = seen[:, :raw.shape[1]] if self.token_map is None else seen[:, self.token_map]
        left = probs.scores(raw, ctx.sampling, seen)                # drawn tokens sink to -inf
        law = None if ctx.sampling.greedy else probs.law(left, ctx.sampling)
        rows, laws = [], []
        for _ in range(n):
            best = left.argmax(-1)
            if law is None:
                row = best
            else:
                # nothing left in the law (top-k smaller than n): the next likeliest token, deterministic
                mass = law.sum(-1, keepdim=True)
                q = torch.where(mass > 0, law / mass, torch.zeros_like(law).scatter_(1, best[:, None], 1.0))
                row = probs.draw(q, ctx.uniforms(q.shape[0]))
                laws.append(q)
                law = law.scatter(1, row[:, None], 0.0)
            left = left.scatter(1, row[:, None], -torch.inf)
            rows.append(row)
        token_rows = torch.stack(rows, 1).view(-1)
        law_rows = torch.stack(laws, 1).view(-1, raw.shape[1]) if laws else raw[:0]
        tokens = token_rows if self.token_map is None else self.token_map[token_rows]
        return tokens, law_rows, raw.repeat_interleave(n, 0)

    def observe(self, ctx: Context, path: list[int]) -> None:
        if self.base is not None:
            fed = self.cache.length - self.base                     # the last level never went through
            kept = [i for i in path if i < fed]
            self.cache.gather(self.base, torch.tensor(kept, dtype=torch.long, device=ctx.device))
            self.base = None
        super().observe(ctx, path)
