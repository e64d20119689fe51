"""Output head and loss in one: the distance of the draft's distribution from the target's, over the K cached ids.

    loss = mean over positions of  kl * sum_k p_k (logsumexp(z) - z_k)  +  tv * (sum_k p_k - sum_k min(p_k, q_k))

with z = hidden W^T and q = softmax(z). The first term is the cross-entropy with the target's distribution (KL up to a constant); the second
is the probability that chain verification rejects (Leviathan et al. 2023: acceptance = sum min(p, q)), which KL only bounds.
The logits of a whole batch would be by far its largest tensor, so they are computed CHUNK positions at a time, together with their gradient.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK = 512         # positions


class _HeadLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, rows: Tensor, probs: Tensor, kl: float, tv: float, dtype: torch.dtype) -> Tensor:
        """hidden [n, H], weight [V, H], rows [n, K] int64, probs [n, K] float, 0 for ids that the draft does not have -> scalar."""
        w = weight.to(dtype)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros((), dtype=torch.float32)
        for a in range(0, len(hidden), CHUNK):
            h, r, p = hidden[a:a + CHUNK].to(dtype), rows[a:a + CHUNK], probs[a:a + CHUNK]
            z = (h @ w.T).float()
            lse, mass = z.logsumexp(-1, keepdim=True), p.sum(-1, keepdim=True)
            zk = z.gather(1, r)
            total += kl * (mass * lse - (p * zk).sum(-1, keepdim=True)).sum()
            q = z.sub_(lse).exp_()                                      # z is q from here on
            grad_k = -kl * p
            scale = kl * mass
            if tv:
                qk = (zk - lse).exp()
                total += tv * (mass - torch.minimum(p, qk).sum(-1, keepdim=True)).sum()
                below = ((qk < p) & (p > 0)) * qk                       # d sum min / d z_j = below_j - q_j * sum(below)
                grad_k = grad_k - tv * below
                scale = scale + tv * below.sum(-1, keepdim=True)
            g = q.mul_(scale).scatter_add_(1, r, grad_k).to(dtype)
            grad_hidden[a:a + CHUNK] = g @ w
            grad_weight += (g.T @ h).to(grad_weight.dtype)
        n = max(1, len(hidden))
        ctx.save_for_backward(grad_hidden.div_(n), grad_weight.div_(n))
        return total / n

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * upstream, grad_weight * upstream, None, None, None, None, None


def head_loss(hidden: Tensor, weight: Tensor, rows: Tensor, probs: Tensor, *, kl: float = 1.0, tv: float = 0.0,
              dtype: torch.dtype = torch.float32) -> Tensor:
    """The loss above. hidden [n, H], weight [V, H], rows [n, K] int64, probs [n, K]; dtype: of the matrix products -> scalar."""
    return _HeadLoss.apply(hidden, weight, rows, probs, kl, tv, dtype)
