"""Attention whose result for a row does not depend on what runs beside it: sums of whole numbers, which float64 adds without rounding.

Queries, keys, values and weights are rounded to whole multiples of a small step before they are multiplied. As long as a sum stays below
2^53 it is exact, in whatever order it is taken, so a chain, a tree, a batch and a pass over one token give the same bits, whatever the
matrix product behind it does. Limits: |q| |k| below 2^19 for heads of 64; largest |v| times keys that matter below 2^15. Beyond them a
row is as accurate as float64, no longer bit for bit its own.
"""
from __future__ import annotations

import math

import torch
from torch import Tensor

QK_BITS = 14            # queries and keys: multiples of 2^-14
V_BITS = 18             # values
P_BITS = 20             # weights exp(score - largest score), from 0 to 1
UNUSED = torch.zeros(1, 1, dtype=torch.float64)


def paired(heads: int, kv_heads: int, size: int) -> Tensor:
    """The order [heads * size] of a qkv matrix's outputs in which a rotation is one complex product: the two halves of each query and key
    head become pairs. Scores do not change, since queries and keys change alike; values keep their order."""
    order = torch.arange((heads + 2 * kv_heads) * size).view(-1, size)
    rotated = order[:heads + kv_heads]
    order[:heads + kv_heads] = rotated.unflatten(1, (2, size // 2)).transpose(1, 2).flatten(1)
    return order.flatten()


def turns(cos: Tensor, sin: Tensor, heads: int, kv_heads: int) -> Tensor:
    """cos, sin [K, 1, 2, D/2] of core.models.rope -> complex factors [K, heads + 2 kv_heads, D/2] for the `paired` outputs of a layer's qkv.

    Their product, rounded, is in whole steps: queries (the part of 1 / sqrt(D) that is no power of two included), keys, and values, which
    are not rotated.
    """
    size = 2 * cos.shape[-1]
    part = size ** -0.5 * 2.0 ** math.ceil(math.log2(size) / 2)         # from 1 to sqrt(2)
    scale = cos.new_full((heads + 2 * kv_heads, 1), 2.0 ** QK_BITS)
    scale[:heads] *= part
    factors = torch.complex(cos[:, :, 0] * scale, sin[:, :, 1] * scale)
    factors[:, heads + kv_heads:] = 2.0 ** V_BITS
    return factors


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """q [N, G*K, D], k and v [N, S, D] in whole steps, float64; mask [G*K, S] 0 or -inf, None: all keys -> [N, G*K, D]."""
    alpha = 2.0 ** -(2 * QK_BITS + math.ceil(math.log2(q.shape[-1]) / 2))       # a power of two: multiplying by it never rounds
    p = torch.baddbmm(UNUSED if mask is None else mask, q, k.transpose(1, 2), beta=0 if mask is None else 1, alpha=alpha)
    p = p.sub_(p.amax(-1, keepdim=True)).exp_().mul_(2.0 ** P_BITS).round_()
    return torch.bmm(p, v).div_(p.sum(-1, keepdim=True).mul_(2.0 ** V_BITS))
