"""The proposer of structured output: what the grammar forces is drafted first, as certain, and then another proposer drafts behind it.

Drawn by assets/js/watch/cards.js.
"""
from __future__ import annotations

import torch

from core.grammar.matcher import has
from core.methods.base import Context, Draft, Proposer, TargetPass
from core.models.host_copy import to_device
from core.models.target import Target
from core.sampling.verify import one_hot


class Forced(Proposer):
    """Wraps a method's own proposer. A forced token is the only one that the mask allows at its place, so its p and q are 1.

    Methods that draft chains token by token (draft model, early exit, an EAGLE chain, a Medusa chain) mask each distribution while they draft.
    Lookups know nothing of the grammar: their drafts are cut before the first forbidden token. Drafted trees and a draft with another tokenizer
    are checked by verification alone, where a forbidden token has p = 0. A method that reads the target's hidden states cannot draft behind
    forced tokens, of which there are none yet: then these are drafted alone.
    """

    def __init__(self, inner: Proposer) -> None:
        self.inner = inner
        self.name, self.aux_layers, self.side_nodes, self.levels = inner.name, inner.aux_layers, inner.side_nodes, inner.levels
        self.max_positions = inner.max_positions
        self.alone = 0              # forced tokens that the last draft began with
        self.asked = False          # whether `inner` drafted in the last round

    def part(self, ctx: Context) -> str:
        return self.inner.part(ctx)

    def begin(self, ctx: Context) -> None:
        self.inner.begin(ctx)

    def end(self) -> None:
        self.inner.end()

    def forget(self) -> None:
        self.inner.forget()

    def propose(self, ctx: Context, k: int) -> Draft | None:
        """k: tokens besides the forced ones; 0 for these alone. ctx.left: the most in all."""
        cursor, draft = ctx.grammar, None
        start = cursor.depth
        try:
            forced = cursor.forced(ctx.left) if not cursor.ended else []
            closed = bool(forced) and forced[-1] in cursor.grammar.eos_ids
            k = min(k, ctx.left - len(forced))
            self.alone = len(forced)
            self.asked = k > 0 and not closed and not (forced and self.aux_layers)
            if self.asked:
                ctx.nodes = k           # a chain, where the method could draft a tree: only chains are masked while they are drafted
                with ctx.behind(forced):
                    behind = cursor.depth
                    draft = self.inner.propose(ctx, k)
                    cursor.back_to(behind)
                    if draft is not None and draft.q is None and draft.parents is None and draft.reused is None:
                        draft = self._fitting(ctx, draft)
            return self._joined(ctx, forced, draft)
        finally:
            cursor.back_to(start)

    def _fitting(self, ctx: Context, draft: Draft) -> Draft:
        """A deterministic chain up to its first forbidden token, and the forced tokens behind it."""
        cursor, fit = ctx.grammar, []
        if cursor.ended:
            return draft
        for token in draft.tokens.tolist():
            if len(fit) == ctx.left or not has(cursor.mask(), token):
                break
            fit.append(token)
            if token in cursor.grammar.eos_ids:
                break
            cursor.push(token)
        if fit and fit[-1] not in cursor.grammar.eos_ids:
            fit += cursor.forced(ctx.left - len(fit))
        return Draft(to_device(fit, ctx.device))

    def _joined(self, ctx: Context, forced: list[int], draft: Draft | None) -> Draft | None:
        """The forced tokens, and `draft` behind the last of them."""
        if not forced:
            return draft if draft is not None and len(draft) else None
        first, n = to_device(forced, ctx.device), len(forced)
        if draft is None or not len(draft):
            return Draft(first)
        q, logits, parents, levels = draft.q, draft.logits, draft.parents, 0
        if q is not None:
            q = torch.cat([one_hot(first, ctx.vocab_size, q.dtype), q])
        if logits is not None:
            logits = torch.cat([one_hot(first, ctx.vocab_size, logits.dtype).log(), logits])
        if parents is not None:
            parents, levels = torch.cat([torch.arange(-1, n - 1, device=ctx.device), parents + n]), draft.levels + n
        return Draft(torch.cat([first, draft.tokens]), q, logits, parents, levels, draft.reused)

    def target_pass(self, target: Target) -> TargetPass:
        return self.inner.target_pass(target) if self.asked else super().target_pass(target)

    def observe(self, ctx: Context, path: list[int]) -> None:
        self.inner.observe(ctx, [i - self.alone for i in path if i >= self.alone] if self.asked else [])
