"""The part of a round that runs on the device: target pass, distributions, accepted tokens, next token. It never waits for the device."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decoding import tables
from core.methods.base import Draft, SamplingContext
from core.models import host_copy
from core.models.cache import GraphCacheView, KVCache
from core.sampling import mask as masks
from core.sampling import probs, verify
from core.sampling.tree import Tree


@dataclass(frozen=True)
class Verification:
    """A captured function (core.models.graphs). levels: of a drafted tree, 0 = a chain; epsilon, delta: of `typical`."""
    target_pass: Callable
    sampling_ctx: SamplingContext
    levels: int = 0
    verify: str = "chain"
    epsilon: float = 0.0
    delta: float = 0.0

    def __call__(self, cache: KVCache | GraphCacheView, uncached: Tensor, u: Tensor | None, seen: Tensor | None, mask: Tensor | None,
                 *draft: Tensor | None) -> tuple:
        """uncached [m] ids, u [N+1] uniforms, noise [levels+1, V] (coupled) or None (greedy), seen [V] bool or None, mask int32 [N+1, W] (bits of
        the ids that a grammar allows) or None, draft: Draft.tensors of N tokens.

        Returns (packed facts, their layout, next id [1], hidden states [m+N, H] of each aux layer, ...).
        """
        drafted = Draft.of(draft, self.levels)
        tree, logits, hidden_states = self.forward(cache, uncached, drafted)
        return *self.accept(drafted, tree, logits, u, seen, mask), *hidden_states

    def forward(self, cache: KVCache | GraphCacheView, uncached: Tensor, draft: Draft) -> tuple[Tree | None, Tensor, list[Tensor]]:
        """The target's pass -> (tree or None, logits [N+1, V], hidden states of each aux layer)."""
        tree = Tree.of(draft.parents, self.levels) if draft.parents is not None else None
        shape = tree.pass_shape(len(uncached)) if tree is not None else None
        logits, hidden_states = self.target_pass(cache, torch.cat([uncached, draft.tokens]), len(draft) + 1, shape, draft.reused)
        return tree, logits.to(self.sampling_ctx.dtype), list(hidden_states.values())

    def accept(self, draft: Draft, tree: Tree | None, logits: Tensor, u: Tensor | None,
               seen: Tensor | None, mask: Tensor | None = None) -> tuple[Tensor, host_copy.Layout, Tensor]:
        """Verify the draft -> (all facts for the record, packed for one copy to the host; their layout; next id [1])."""
        n, tokens, q, sampling = len(draft), draft.tokens, draft.q, self.sampling_ctx.sampling
        before = None if seen is None else probs.seen_before(seen, tokens, tree)
        scored = listed = probs.scores(logits, sampling, before)
        allowed = None
        if mask is not None:        # before temperature, top-k, top-p and min-p, as in other engines: these then choose among what is allowed
            allowed = masks.allowed(mask, logits.shape[1])
            scored = scored.masked_fill(~allowed, -torch.inf)
        p = probs.probabilities(scored, sampling)
        noise = u if self.sampling_ctx.coupled else None
        if u is None or noise is not None:
            u = torch.full((n + 1,), 0.5, dtype=torch.float64, device=tokens.device)          # decides nothing: p is one-hot, or the noise decides
        result = self._verify(p, draft, tree, u) if noise is None else verify.coupled(p, tokens, tree, noise)
        own, rows = tokens[:, None], slice(0, n) if tree is None else tree.parents + 1
        facts = {"tokens": tokens, "accepted": result.accepted, "tested": result.tested, "u": u[:n], "acceptance_prob": result.acceptance_prob,
                 "p": p[rows].gather(1, own)[:, 0], "q": q.gather(1, own)[:, 0] if q is not None else torch.ones_like(u[:n]),
                 "next": torch.stack([result.next_id, result.at]), "peak": logits.amax(-1)}
        if tree is not None:
            facts["parents"] = tree.parents
        if self.sampling_ctx.record:
            q_scored = None if draft.logits is None else probs.scores(draft.logits, sampling, None if before is None else before[rows])
            if allowed is not None:
                facts |= tables.removed(listed, allowed, sampling)
                listed = masks.ranked(listed, allowed)
                q_scored = None if q_scored is None else masks.ranked(q_scored, allowed[rows])
            captured = tables.capture(p, listed, logits, q, q_scored, draft.logits, tokens, None if tree is None else tree.parents, result.residual)
            facts |= {f"table.{name}": tensor for name, tensor in captured.items()}
        return *host_copy.pack(facts), result.next_id.view(1)

    def _verify(self, p: Tensor, draft: Draft, tree: Tree | None, u: Tensor) -> verify.VerifyResult:
        n, tokens, q = len(draft), draft.tokens, draft.q
        if self.verify == "typical" and n:
            shape = tree or Tree.of(torch.arange(-1, n - 1, device=u.device), n)
            return verify.typical(p, tokens, shape, u[n], self.epsilon, self.delta)
        if tree is not None:
            return verify.tree(p, q, tokens, tree, u[:n], u[n])
        if q is None:
            q = verify.one_hot(tokens, self.sampling_ctx.vocab_size, p.dtype)
        return (verify.block if self.verify == "block" else verify.chain)(p, q, tokens, u[:n], u[n])
