"""The exponential race of drafter-invariant sampling (Daliri et al. 2024, arXiv 2408.07978): one noise for the target and for every draft.

The noise of an output position is a value e of Exp(1) for each token. The token with the largest p / e is distributed as p (the Gumbel-max
trick: -log e is Gumbel noise). The noise depends on the run's seed and the position alone, so a draft that reads it often comes to the
target's own token, and the target's token does not depend on the draft.
"""
from __future__ import annotations

import torch
from torch import Tensor

from core.models.host_copy import to_device
from core.sampling import probs
from core.sampling.probs import Sampling

STEP, FIRST_FACTOR, SECOND_FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB      # SplitMix64 (Steele et al. 2014)
SHIFTS = 30, 27, 31
EXCLUDED = -1e4     # keys of the tokens that have no probability: below the logarithm of any positive float64


class Noise:
    """The noise of one run. It is a hash of seed, position and token id, so a row has the same bits whatever other rows are made, on any device
    (but for the last bit of the logarithm)."""

    def __init__(self, seed: int, vocab_size: int, device: torch.device) -> None:
        self.seed, self.device = seed, device
        self._ids = torch.arange(vocab_size, device=device) * _signed(STEP)
        self._first, self._rows = 0, torch.empty(0, vocab_size, dtype=torch.float64, device=device)     # the rows made last

    def rows(self, position: int, n: int) -> Tensor:
        """The noise [n, V] float64 of n positions, all values in [1e-16, 37]. Rows of the last call are reused. Does not wait for the device."""
        at = position - self._first
        kept = self._rows[at:at + n] if 0 <= at < len(self._rows) else self._rows[:0]
        if len(kept) < n:
            new = self._made(range(position + len(kept), position + n))
            kept = torch.cat([kept, new]) if len(kept) else new
            self._first, self._rows = position, kept
        return kept

    def _made(self, positions: range) -> Tensor:
        start = _mixed(self.seed) or STEP       # seed 0 mixes to 0, and token 0 of its position 0 could then never win
        keys = to_device([_signed(_mixed(start + STEP * t)) for t in positions], self.device)
        x = keys[:, None] + self._ids           # the state of SplitMix64 after `id` steps from the position's key
        shifted = torch.empty_like(x)
        for shift, factor in zip(SHIFTS, (FIRST_FACTOR, SECOND_FACTOR, None)):
            torch.bitwise_right_shift(x, shift, out=shifted)
            x ^= shifted.bitwise_and_((1 << 64 - shift) - 1)        # int64 shifts copy the sign; the mask makes the shift a logical one
            if factor:
                x *= _signed(factor)
        x >>= 12
        x &= (1 << 52) - 1
        x |= 0x3FF << 52                        # the bits of a float64 in [1, 2)
        uniform = x.view(torch.float64)
        uniform -= 1 - 2.0 ** -53               # exact: (i + 1/2) / 2^52, never 0 or 1
        return uniform.log_().neg_()


def winner(dist: Tensor, noise: Tensor) -> Tensor:
    """The token [...] that wins the race under a distribution [..., V] with noise [..., V]: the largest dist / noise, never one of probability 0.

    Of equal ones the lower id wins. In float64, whatever the distribution's dtype.
    """
    return (dist.double() / noise).argmax(-1)


def keys(scored: Tensor, sampling: Sampling, noise: Tensor) -> Tensor:
    """Scores [..., V] and noise [..., V] -> log(probability / noise) [..., V] float64: its n largest are n draws without replacement.

    Tokens that the sampling options exclude come after all others, by their scores.
    """
    dist = probs.probabilities(scored, sampling).double()
    scored = scored.double().masked_fill(scored.isnan(), -torch.inf)
    return torch.where(dist > 0, (dist / noise).log(), scored - scored.amax(-1, keepdim=True) + EXCLUDED)


def of_rows(noise: Tensor, rows: int, token_map: Tensor | None) -> Tensor:
    """The noise [..., R] of a draft head's rows, from that of all ids [..., V]. token_map [R]: the target id of each row, None: its own index."""
    return noise[..., :rows] if token_map is None else noise.index_select(-1, token_map)


def _mixed(x: int) -> int:
    """SplitMix64's output function of a 64-bit state."""
    x &= (1 << 64) - 1
    x = (x ^ x >> 30) * FIRST_FACTOR & (1 << 64) - 1
    x = (x ^ x >> 27) * SECOND_FACTOR & (1 << 64) - 1
    return x ^ x >> 31


def _signed(x: int) -> int:
    """A 64-bit number as an int64 has it."""
    return x - (1 << 64) if x >> 63 else x
