"""Verification: pure tensor functions that keep the target's law exactly. The uniforms are arguments.

p is the target's law, q the law the drafted token was really drawn from, both after every sampling option. A deterministic
draft has a one-hot q. All functions take any leading batch dimensions, written [...].
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.probs import draw

TINY = 1e-12    # a residual lighter than this is rounding dust: p == q there, so p itself is the right law


@dataclass
class Verdict:
    accepted: Tensor      # [...] int64: number of leading drafted tokens kept
    next_id: Tensor       # [...] int64: recovered (after a rejection) or bonus token
    threshold: Tensor     # [..., k]: what u was compared with
    residual: Tensor      # [..., V]: the law next_id was drawn from


def chain(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> Verdict:
    """Speculative sampling of one chain (Leviathan et al. 2023, alg. 1; Chen et al. 2023, alg. 2).

    p [..., k+1, V], q [..., k, V], drafted [..., k] ids, u [..., k] and u_next [...] uniform in [0, 1).
    Token i is kept iff u_i * q_i(x_i) < p_i(x_i): strict, so that u = 0 never keeps a token of probability 0.
    """
    k = drafted.shape[-1]
    at = drafted.unsqueeze(-1)
    p_x = p[..., :k, :].gather(-1, at).squeeze(-1)
    q_x = q.gather(-1, at).squeeze(-1)
    kept = u * q_x < p_x
    accepted = kept.long().cumprod(-1).sum(-1)
    here = accepted[..., None, None].expand(*accepted.shape, 1, p.shape[-1])
    p_here = p.gather(-2, here).squeeze(-2)
    q_padded = torch.cat([q, torch.zeros_like(p[..., :1, :])], -2)          # nothing was drafted at the bonus position
    q_here = q_padded.gather(-2, here).squeeze(-2)
    residual = residual_law(p_here, q_here)
    return Verdict(accepted, draw(residual, u_next), p_x / q_x, residual)


def residual_law(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p - q)) over the last dimension; p itself where the two agree to rounding."""
    rest = (p - q).clamp_min(0)
    mass = rest.sum(-1, keepdim=True)
    return torch.where(mass > TINY, rest / mass.clamp_min(TINY), p)


def one_hot(drafted: Tensor, vocab_size: int, dtype: torch.dtype) -> Tensor:
    """Law of a deterministic draft: drafted [..., k] -> [..., k, V]."""
    law = torch.zeros(*drafted.shape, vocab_size, dtype=dtype, device=drafted.device)
    return law.scatter_(-1, drafted.unsqueeze(-1), 1.0)
