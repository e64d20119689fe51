"""Logits -> the law a token is drawn from. Every option is applied per position, on that position's own prefix.

Order as in transformers: repetition penalty, temperature, top-k, top-p, min-p. Temperature 0 is a law too: one-hot at the
likeliest token, so that greedy decoding needs no second code path.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.errors import UserError

if TYPE_CHECKING:
    from core.sampling.tree import Tree

LOW = 0.001             # lower temperatures and penalties would push logits over float32's range
NUCLEUS_GUESSES = 512, 8192     # a nucleus is rarely larger; when it is, the whole vocabulary is sorted


@dataclass(frozen=True)
class Sampling:
    """Sampling options of a run. temperature 0 = greedy; top_k 0, top_p 1, min_p 0, repetition_penalty 1 = off."""
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        """Raises UserError for a value outside its range, NaN and infinities included."""
        checks = (("temperature", self.temperature == 0 or LOW <= self.temperature <= 100, f"0 (greedy) or from {LOW} to 100"),
                  ("top-k", isinstance(self.top_k, int) and self.top_k >= 0, "a whole number from 0 (off) up"),
                  ("top-p", 0 < self.top_p <= 1, "above 0 and at most 1 (off)"),
                  ("min-p", 0 <= self.min_p <= 1, "from 0 (off) to 1"),
                  ("repetition-penalty", LOW <= self.repetition_penalty <= 1e9, f"from {LOW} to 1e9 (1 = off)"))
        for name, good, want in checks:
            if not good:
                raise UserError(f"--{name} must be {want}, not {getattr(self, name.replace('-', '_'))}.")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


def scores(logits: Tensor, sampling: Sampling, seen: Tensor | None = None) -> Tensor:
    """Penalised raw logits [..., V] in float32 or float64; they order the tokens exactly as `law` does.

    seen: bool [..., V], the ids in each position's own prefix (prompt, output so far, drafted tokens before it); needed only
    with a repetition penalty (Keskar et al. 2019: positive logits are divided by it, negative ones multiplied).
    """
    out = logits if logits.dtype == torch.float64 else logits.float()
    if sampling.repetition_penalty != 1:
        penalised = torch.where(out > 0, out / sampling.repetition_penalty, out * sampling.repetition_penalty)
        out = torch.where(seen, penalised, out)
    return out


def law(scored: Tensor, sampling: Sampling) -> Tensor:
    """Scores [..., V] -> probabilities [..., V]. NaN logits count as -inf; a row without any finite logit is an error upstream."""
    scored = scored.masked_fill(scored.isnan(), -torch.inf)
    if sampling.greedy:
        best = scored.argmax(-1, keepdim=True)
        return torch.zeros_like(scored).scatter_(-1, best, 1.0)
    probs = torch.softmax(scored / sampling.temperature, -1)
    if 0 < sampling.top_k < scored.shape[-1]:
        kept = probs.topk(sampling.top_k, -1)
        probs = torch.zeros_like(probs).scatter_(-1, kept.indices, kept.values)   # exactly k, ties or not
    if sampling.top_p < 1:
        probs = _nucleus(probs, sampling.top_p)
    if sampling.min_p > 0:
        probs = probs.masked_fill(probs < sampling.min_p * probs.amax(-1, keepdim=True), 0)
    if sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0:
        probs = probs / probs.sum(-1, keepdim=True)
    return probs


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """Holtzman et al. 2020: the smallest set of likeliest tokens whose mass reaches top_p of the (already truncated) mass."""
    need = top_p * probs.sum(-1, keepdim=True)
    for guess in NUCLEUS_GUESSES if probs.device.type == "cpu" else ():     # a full sort of the vocabulary costs more than a draft step
        if 2 * guess < probs.shape[-1]:
            ordered, order = probs.topk(guess, -1)
            if bool((ordered.sum(-1, keepdim=True) >= need).all()):
                return _keep(probs, ordered, order, need)
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    return _keep(probs, ordered, order, need)


def _keep(probs: Tensor, ordered: Tensor, order: Tensor, need: Tensor) -> Tensor:
    before = ordered.cumsum(-1) - ordered                      # the first token always stays: nothing lies before it
    return torch.zeros_like(probs).scatter_(-1, order, ordered.masked_fill(before >= need, 0))


def draw(probs: Tensor, u: Tensor) -> Tensor:
    """Inverse-CDF draw: probs [..., V], u [...] in [0, 1) -> ids [...]. Never returns an id of probability 0."""
    cdf = probs.double().cumsum(-1)
    ids = torch.searchsorted(cdf, (u.double() * cdf[..., -1]).unsqueeze(-1), right=True).squeeze(-1)
    last = probs.shape[-1] - 1 - (probs > 0).flip(-1).byte().argmax(-1)    # rounding may push u * total up to the total
    return torch.minimum(ids, last)


def seen_along(seen: Tensor, drafted: Tensor, tree: Tree | None = None) -> Tensor:
    """Context ids `seen` [V] and N drafted ids (a chain, or a tree) -> bool [N + 1, V]: the ids before each position of the pass."""
    n = drafted.shape[0]
    above = tree.ancestors if tree is not None else torch.ones(n, n, dtype=torch.bool, device=drafted.device).tril()
    out = seen.repeat(n + 1, 1)
    for i in range(n):          # node i lies before the positions behind its descendants and itself
        column = drafted[i].expand(n, 1)        # scatter: an index of one number would wait for the device
        out[1:].scatter_(1, column, out[1:].gather(1, column) | above[:, i:i + 1])
    return out
