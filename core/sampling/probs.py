"""Logits -> the distribution that a token is drawn from. Every option is applied to each position with that position's own prefix.

The order is transformers': repetition penalty, temperature, top-k, top-p, min-p. Temperature 0 gives a one-hot distribution at the
likeliest token, so that greedy decoding needs no second code path.

A row's distribution depends on that row alone, bit for bit, whatever the other rows of the batch and the number of threads. A sum of floats
depends on the order of adding, so sums over the vocabulary are taken over integers (`_weights`). Of equally likely tokens the lower
id comes first.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.errors import UserError

if TYPE_CHECKING:
    from core.sampling.tree import Tree

LOW = 0.001             # lower temperatures and penalties would push logits out of float32's range
NUCLEUS_GUESSES = 512, 8192     # sizes tried for the top-p set before the whole vocabulary is sorted; it is rarely larger


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
    """Raw logits [..., V] after the repetition penalty, in float32 or float64; they order the tokens exactly as `probabilities` does.

    seen [..., V] bool: the ids in each position's own prefix (prompt, output so far, drafted tokens before it); needed only with a
    repetition penalty, which divides their positive logits and multiplies their negative ones (CTRL, Keskar et al. 2019).
    """
    out = logits if logits.dtype == torch.float64 else logits.float()
    if sampling.repetition_penalty != 1:
        penalised = torch.where(out > 0, out / sampling.repetition_penalty, out * sampling.repetition_penalty)
        out = torch.where(seen, penalised, out)
    return out


def probabilities(scored: Tensor, sampling: Sampling) -> Tensor:
    """Scores [..., V] -> probabilities [..., V]. NaN counts as -inf. Each row must have a finite score: the decode loop checks the logits."""
    scored = scored.masked_fill(scored.isnan(), -torch.inf)
    if sampling.greedy:
        best = scored.argmax(-1, keepdim=True)
        return torch.zeros_like(scored).scatter_(-1, best, 1.0)
    probs = torch.softmax(scored / sampling.temperature, -1)
    if 0 < sampling.top_k < scored.shape[-1]:
        smallest = probs.topk(sampling.top_k, -1).values[..., -1:]
        probs = _keep_likeliest(probs, probs, smallest, torch.full_like(smallest, sampling.top_k, dtype=torch.long))
    if sampling.top_p < 1:
        probs = _nucleus(probs, sampling.top_p)
    if sampling.min_p > 0:
        probs = probs.masked_fill(probs < sampling.min_p * probs.amax(-1, keepdim=True), 0)
    if sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0:
        probs = probs / _total(probs)
    return probs


def _weights(probs: Tensor) -> Tensor:
    """[..., V] -> int64 [..., V]: each probability in units of `_unit`. Sums of them are exact in any order."""
    return (probs.double() / _unit(probs)).round_().long()


def _unit(probs: Tensor) -> Tensor:
    """[..., 1] float64: so small a share of the row's largest probability that V of them do not overflow int64."""
    return probs.amax(-1, keepdim=True).double() / 2 ** (62 - probs.shape[-1].bit_length())


def _total(probs: Tensor) -> Tensor:
    """[..., 1]: the row's sum."""
    return (_weights(probs).sum(-1, keepdim=True) * _unit(probs)).to(probs.dtype)


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """Top-p (nucleus sampling, Holtzman et al. 2020): the smallest set of likeliest tokens with at least top_p of the mass that top-k has left."""
    size = probs.shape[-1]
    weights = _weights(probs).reshape(-1, size)
    need = top_p * weights.sum(-1, keepdim=True).double()                   # float64: float32 would round a tiny top_p to 0 and keep no token
    smallest, count = torch.empty_like(weights[:, :1]), torch.empty_like(weights[:, :1])
    unsolved = torch.arange(weights.shape[0], device=probs.device)          # rows whose set is larger than every size tried so far
    # a full sort costs a CPU more than a draft step; on a GPU, asking which rows are unsolved would wait for the device
    for guess in (*NUCLEUS_GUESSES, size) if probs.device.type == "cpu" else (size,):
        if guess != size and 2 * guess >= size:
            continue
        ordered = weights[unsolved].topk(guess, -1).values if guess < size else weights[unsolved].sort(-1, descending=True).values
        before = ordered.cumsum(-1) - ordered
        inside = (before < need[unsolved]).sum(-1, keepdim=True)            # at least 1, since nothing is before the first
        smallest[unsolved], count[unsolved] = ordered.gather(-1, inside - 1), inside
        if guess == size:
            break
        unsolved = unsolved[(ordered.sum(-1, keepdim=True) < need[unsolved])[:, 0]]
        if not len(unsolved):
            break
    return _keep_likeliest(probs.reshape(-1, size), weights, smallest, count).view_as(probs)


def _keep_likeliest(probs: Tensor, key: Tensor, smallest: Tensor, count: Tensor) -> Tensor:
    """Zero all but `count` [..., 1] tokens of each row: those with key above `smallest` [..., 1], then the lowest ids among those equal to it."""
    above, equal = key > smallest, key == smallest
    ties = count - above.sum(-1, keepdim=True)
    return torch.where(above | (equal & (equal.cumsum(-1, dtype=torch.int32) <= ties)), probs, 0)


def draw(probs: Tensor, u: Tensor) -> Tensor:
    """Inverse-CDF draw: probs [..., V], u [...] in [0, 1) -> ids [...]. Never returns an id of probability 0."""
    cdf = probs.double().cumsum(-1)
    ids = torch.searchsorted(cdf, (u.double() * cdf[..., -1]).unsqueeze(-1), right=True).squeeze(-1)
    last = probs.shape[-1] - 1 - (probs > 0).flip(-1).byte().argmax(-1)    # rounding can make u * total equal to the total
    return torch.minimum(ids, last)


def seen_before(seen: Tensor, drafted: Tensor, tree: Tree | None = None) -> Tensor:
    """The ids in the prefix of each position of a pass, bool [N + 1, V]: those of the context, seen [V] bool, and the drafted ones [N] before it."""
    n = drafted.shape[0]
    above = tree.ancestors if tree is not None else torch.ones(n, n, dtype=torch.bool, device=drafted.device).tril()
    out = seen.repeat(n + 1, 1)
    for i in range(n):          # row j + 1 is the position after node j; node i is in its prefix if it is j or an ancestor of j
        column = drafted[i].expand(n, 1)        # scatter, since indexing by a 0-d tensor would wait for the device
        out[1:].scatter_(1, column, out[1:].gather(1, column) | above[:, i:i + 1])
    return out
