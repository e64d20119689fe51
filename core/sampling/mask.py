"""A bitmask of allowed ids as a tensor, and what it removes from a distribution."""
from __future__ import annotations

import torch
from torch import Tensor

from core.sampling.probs import Sampling

BELOW = 1e4         # how far the removed ids are put below the allowed ones where both are listed by their scores


def allowed(bits: Tensor, size: int) -> Tensor:
    """int32 [..., W] -> bool [..., size]: whether bit i of word j, the id 32 j + i, is set."""
    if bits.device.type == "cpu":       # ten times as fast as broadcasting over 8 bits
        import numpy as np  # here, since `core.gpu_check` runs where only torch is
        return torch.from_numpy(np.unpackbits(bits.numpy().view(np.uint8), axis=-1, bitorder="little")).view(torch.bool)[..., :size]
    return _broadcast(bits)[..., :size]


def _broadcast(bits: Tensor) -> Tensor:
    one = torch.ones(8, dtype=torch.uint8, device=bits.device) << torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (bits.view(torch.uint8)[..., None] & one).ne(0).flatten(-2)


def ranked(scored: Tensor, allowed_ids: Tensor) -> Tensor:
    """Scores [..., V] that order the removed ids behind all allowed ones, and each kind as before."""
    return torch.where(allowed_ids, scored, scored - BELOW)


def unmasked(scored: Tensor, sampling: Sampling) -> Tensor:
    """The distribution [..., V] that the mask removes from: of the scores at the run's temperature, at 1 if that is 0; no top-k, top-p or min-p,
    which a run applies after the mask."""
    return torch.softmax(scored / (sampling.temperature or 1.0), -1)
