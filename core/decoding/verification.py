"""The tensor half of a round: the target's pass, both laws, the verdicts and the next token. Nothing here waits for the device."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decoding import tables
from core.methods.base import Rules
from core.models import host_copy
from core.models.cache import KVCache, Window
from core.sampling import probs, verify
from core.sampling.tree import Tree


@dataclass(frozen=True)
class Step:
    """A region (core.models.graphs). levels: of a drafted tree, 0 = a chain."""
    target_pass: Callable
    rules: Rules
    levels: int = 0
    verify: str = "chain"
    epsilon: float = 0.0
    delta: float = 0.0

    def __call__(self, cache: KVCache | Window, pending: Tensor, tokens: Tensor, q: Tensor | None, q_logits: Tensor | None, parents: Tensor | None,
                 kept: Tensor | None, u: Tensor | None, seen: Tensor | None) -> tuple:
        """pending [m] ids that the target has not read, tokens [N] drafted, q and q_logits [N, V], parents [N], kept: what the draft has left
        for the target's pass, u [N+1], seen [V] bool. Returns (packed facts, their layout, next id [1], tapped states [m+N, H] ...)."""
        tree, logits, states = self.forward(cache, pending, tokens, parents, kept)
        return *self.judge(tree, logits, tokens, q, q_logits, u, seen), *states

    def forward(self, cache: KVCache | Window, pending: Tensor, tokens: Tensor, parents: Tensor | None,
                kept: Tensor | None) -> tuple[Tree | None, Tensor, list[Tensor]]:
        """The target's pass -> (tree, logits [N+1, V], tapped states)."""
        tree = Tree.of(parents, self.levels) if parents is not None else None
        shape = tree.pass_shape(len(pending)) if tree is not None else None
        logits, states = self.target_pass(cache, torch.cat([pending, tokens]), len(tokens) + 1, shape, kept)
        return tree, logits.to(self.rules.dtype), list(states.values())

    def judge(self, tree: Tree | None, logits: Tensor, tokens: Tensor, q: Tensor | None, q_logits: Tensor | None, u: Tensor | None,
              seen: Tensor | None) -> tuple[Tensor, host_copy.Layout, Tensor]:
        """Laws, verdicts and all that the record keeps of them."""
        n, sampling = len(tokens), self.rules.sampling
        along = None if seen is None else probs.seen_along(seen, tokens, tree)
        scored = probs.scores(logits, sampling, along)
        p = probs.law(scored, sampling)
        if u is None:
            u = torch.full((n + 1,), 0.5, dtype=torch.float64, device=tokens.device)
        verdict = self._verdict(p, q, tokens, tree, u)
        own, rows = tokens[:, None], slice(0, n) if tree is None else tree.parents + 1
        facts = {"tokens": tokens, "accepted": verdict.accepted, "tested": verdict.tested, "u": u[:n], "threshold": verdict.threshold,
                 "p": p[rows].gather(1, own)[:, 0], "q": q.gather(1, own)[:, 0] if q is not None else torch.ones_like(u[:n]),
                 "next": torch.stack([verdict.next_id, verdict.at]), "peak": logits.amax(-1)}
        if tree is not None:
            facts["parents"] = tree.parents
        if self.rules.record:
            q_scored = None if q_logits is None else probs.scores(q_logits, sampling, None if along is None else along[rows])
            captured = tables.capture(p, scored, logits, q, q_scored, q_logits, tokens, None if tree is None else tree.parents, verdict.residual)
            facts |= {f"table.{name}": tensor for name, tensor in captured.items()}
        return *host_copy.pack(facts), verdict.next_id.view(1)

    def _verdict(self, p: Tensor, q: Tensor | None, tokens: Tensor, tree: Tree | None, u: Tensor) -> verify.Verdict:
        n = len(tokens)
        if self.verify == "typical" and n:
            shape = tree or Tree.of(torch.arange(-1, n - 1, device=u.device), n)
            return verify.typical(p, tokens, shape, u[n], self.epsilon, self.delta)
        if tree is not None:
            return verify.tree(p, q, tokens, tree, u[:n], u[n])
        if q is None:
            q = verify.one_hot(tokens, self.rules.vocab_size, p.dtype)
        return (verify.block if self.verify == "block" else verify.chain)(p, q, tokens, u[:n], u[n])
