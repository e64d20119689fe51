"""Draws a chain of tokens one by one from a draft's logits, on the device: shared by all proposers that sample chains."""
from __future__ import annotations

import torch
from torch import Tensor

from core.grammar.walk import Walk
from core.methods.base import SamplingContext
from core.models.host_copy import to_device
from core.sampling import probs, race
from core.sampling.verify import one_hot


class Chain:
    """Draws each token from the draft's own distribution under the run's sampling options; that distribution is its q.

    token_map [R], of a reduced head with R rows: the target id of each row. Ids without a row have q = 0. With a grammar each distribution is
    over the ids allowed at its place, and forced tokens follow a drawn one without being drawn; their q is one-hot.
    """

    def __init__(self, sampling_ctx: SamplingContext, u: Tensor | None, seen: Tensor | None, token_map: Tensor | None = None,
                 walk: Walk | None = None) -> None:
        """u [k] uniforms, noise [k, V] (coupled), or None (greedy); seen [V] bool: the ids of the context, None without a repetition penalty."""
        self.sampling_ctx, self.u, self.token_map, self.walk = sampling_ctx, u, token_map, walk
        self.over = False           # nothing more can be drafted
        self.drawn: list[bool] = []         # of each token: drawn, not forced
        self.seen = None if seen is None else seen.clone()
        self.tokens: list[Tensor] = []
        self.dists: list[Tensor] = []
        self.logits: list[Tensor] = []

    def add(self, logits: Tensor) -> Tensor:
        """Raw logits [R] of the next position -> the drawn target id [1], with a grammar and the forced ones behind it [n]; [0] where the
        head has no id that is allowed."""
        sampling_ctx = self.sampling_ctx
        raw = logits.to(sampling_ctx.dtype)
        if self.token_map is None:
            raw = raw[:sampling_ctx.vocab_size]                          # without the rows that only pad the head
        seen = self.seen
        if seen is not None:
            seen = seen[:raw.shape[0]] if self.token_map is None else seen[self.token_map]
        scored = probs.scores(raw, sampling_ctx.sampling, seen)
        if self.walk is not None:
            allowed = self.walk.allowed()
            allowed = allowed[:raw.shape[0]] if self.token_map is None else allowed[self.token_map]
            if self.walk.over or not allowed.any():
                self.over = True
                return torch.empty(0, dtype=torch.long, device=logits.device)
            scored = scored.masked_fill(~allowed, -torch.inf)
        dist = probs.probabilities(scored, sampling_ctx.sampling)
        row = self._drawn(dist).view(1)
        token = row if self.token_map is None else self.token_map.index_select(0, row)      # indexing by a 0-d tensor would wait
        if self.seen is not None:
            self.seen.index_fill_(0, token, True)
        self.tokens.append(token)
        self.dists.append(dist)
        self.logits.append(raw)
        self.drawn.append(True)
        return token if self.walk is None else self._jump(token)

    def _jump(self, token: Tensor) -> Tensor:
        """token [1] and the forced ones behind it [n]."""
        forced = to_device(self.walk.take(int(token)), token.device)
        self.over = self.walk.over
        if self.seen is not None:
            self.seen.index_fill_(0, forced, True)
        self.tokens.append(forced)
        self.drawn += [False] * len(forced)
        return torch.cat([token, forced])

    def _drawn(self, dist: Tensor) -> Tensor:
        """dist [R] -> the drawn row []."""
        if self.u is None:
            return dist.argmax(-1)
        u = self.u[len(self.dists)]
        return race.winner(dist, race.of_rows(u, dist.shape[0], self.token_map)) if self.sampling_ctx.coupled else probs.draw(dist, u)

    def parts(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """The first fields of a Draft: tokens [k], q [k, V], raw logits [k, V] (None if they are not recorded). k may be 0 with a grammar."""
        size, record = self.sampling_ctx.vocab_size, self.sampling_ctx.record
        tokens = torch.cat(self.tokens) if self.tokens else torch.empty(0, dtype=torch.long)
        if not self.dists:
            return tokens, tokens.new_zeros(0, size, dtype=self.sampling_ctx.dtype), None
        q = scatter_to_vocab(torch.stack(self.dists), size, self.token_map, 0.0)
        logits = scatter_to_vocab(torch.stack(self.logits), size, self.token_map, -torch.inf) if record else None
        if all(self.drawn):
            return tokens, q, logits
        drawn = to_device([i for i, own in enumerate(self.drawn) if own], tokens.device)
        q = one_hot(tokens, size, q.dtype).index_copy(0, drawn, q)
        return tokens, q, None if logits is None else one_hot(tokens, size, logits.dtype).log().index_copy(0, drawn, logits)


def scatter_to_vocab(rows: Tensor, size: int, token_map: Tensor | None, fill: float) -> Tensor:
    """Rows [k, R] over a draft head's rows -> [k, size] over the target's ids; `fill` at ids without a row."""
    if token_map is None and rows.shape[-1] == size:
        return rows
    out = rows.new_full((rows.shape[0], size), fill)
    if token_map is None:                                         # the draft's vocabulary is smaller
        out[:, :rows.shape[-1]] = rows
    else:
        out[:, token_map] = rows
    return out
