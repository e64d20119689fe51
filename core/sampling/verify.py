"""Verification: pure tensor functions that keep the target's law exactly (`typical` alone does not). The uniforms are arguments.

p is the target's law, q the law the drafted token was really drawn from, both after every sampling option. A deterministic
draft has a one-hot q. `chain` and `block` take any leading batch dimensions, written [...].
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.sampling.probs import draw
from core.sampling.tree import Tree

TINY = 1e-12    # a residual lighter than this is rounding dust: p == q there, so p itself is the right law


@dataclass
class Verdict:
    accepted: Tensor      # [..., N] bool: kept (in a chain a prefix, in a tree one path)
    tested: Tensor        # [..., N] bool: compared with its threshold; tested and not accepted = rejected
    threshold: Tensor     # [..., N]: what u was compared with
    at: Tensor            # [...] int64: position of the pass whose law next_id comes from; 0 = root, i + 1 = after node i
    residual: Tensor      # [..., V]: that law
    next_id: Tensor       # [...] int64: recovered (after a rejection) or bonus token


def chain(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> Verdict:
    """Speculative sampling of one chain (Leviathan et al. 2023, alg. 1; Chen et al. 2023, alg. 2).

    p [..., k+1, V], q [..., k, V], drafted [..., k] ids, u [..., k] and u_next [...] uniform in [0, 1).
    Token i is kept iff u_i < p_i(x_i) / q_i(x_i): strict, so that u = 0 never keeps a token of probability 0. The ratio is taken in
    float64, so that what is recorded decides again as it did here.
    """
    p_x, q_x = _own(p, q, drafted)
    threshold = p_x.double() / q_x.double()                                   # 0 / 0 is NaN: not kept
    kept = (u < threshold).long().cumprod(-1)
    count = kept.sum(-1)
    residual = residual_law(_row(p, count), _row(_padded(q), count))
    tested = torch.cat([torch.ones_like(kept[..., :1]), kept[..., :-1]], -1)[..., :kept.shape[-1]]
    return Verdict(kept.bool(), tested.bool(), threshold, count, residual, draw(residual, u_next))


def block(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> Verdict:
    """Block verification (Sun et al. 2024, alg. 2): the block's joint law is checked, which keeps at least as many tokens as `chain`.

    With w_0 = 1, w_i = min(1, w_{i-1} p_i(x_i) / q_i(x_i)) and s_i = sum_x max(0, w_i p_{i+1}(x) - q_{i+1}(x)), the thresholds are
    h_i = s_i / (s_i + 1 - w_i) inside and h_k = w_k at the end. Kept: up to the last i with u_i < h_i. Every token is tested.
    """
    p_x, q_x = _own(p, q, drafted)
    k = drafted.shape[-1]
    ratio, weights = p_x / q_x, [torch.ones_like(p[..., 0, 0])]
    for i in range(k):
        weights.append((weights[-1] * ratio[..., i]).clamp_max(1))
    w = torch.stack(weights, -1)                                              # [..., k+1]
    excess = (w[..., 1:, None] * p[..., 1:, :] - _padded(q)[..., 1:, :]).clamp_min(0).sum(-1)     # [..., k], s_i for i = 1..k
    inner = torch.where(excess > TINY, excess / (excess + 1 - w[..., 1:]).clamp_min(TINY), 0)
    h = torch.cat([inner[..., :-1], w[..., k:]], -1)[..., :k]                 # with k = 0 there is nothing to compare
    places = torch.arange(1, k + 1, device=u.device)
    count = torch.where(u < h, places, 0).amax(-1) if k else torch.zeros_like(u_next, dtype=torch.long)
    scaled = _row(p, count) * w.gather(-1, count.unsqueeze(-1))
    residual = residual_law(scaled, _row(_padded(q), count))
    kept = places <= count.unsqueeze(-1)
    return Verdict(kept, torch.ones_like(kept), h, count, residual, draw(residual, u_next))


def tree(p: Tensor, q: Tensor | None, drafted: Tensor, shape: Tree, u: Tensor, u_next: Tensor) -> Verdict:
    """Siblings tested one after the other, each against what the rejected ones before it have left of p (SpecInfer, Miao et al. 2024;
    without replacement: Jeon et al. 2024). p [N+1, V], drafted [N], u [N], u_next scalar; p row 0 = root, row i + 1 = after node i.

    q None: deterministic siblings (one-hot each): the rest of p is then p without the earlier siblings, and no vector of the
    vocabulary is touched before the last step. Else q [N, V], row j the law that node j was drawn from, given its earlier siblings.
    """
    n = drafted.shape[0]
    p_x = p[shape.parents + 1, drafted]
    if q is None:
        gone = (shape.earlier.to(p.dtype) @ p_x).clamp_max(1)
        threshold = torch.where(p_x > 0, p_x / (1 - gone).clamp_min(TINY), 0)
        passes = u < threshold
    else:
        rest = _rest_before(p, q, shape)
        left_x = rest.gather(1, drafted[:, None])[:, 0]
        q_x = q.gather(1, drafted[:, None])[:, 0]
        threshold, passes = left_x / q_x, u * q_x < left_x
    chosen = passes & ~(shape.earlier & passes[None]).any(1)                  # the first sibling that passes
    accepted = (~shape.ancestors | chosen[None]).all(1)
    at = torch.where(accepted, torch.arange(1, n + 1, device=drafted.device), 0).amax() if n else p.new_zeros((), dtype=torch.long)
    inside = shape.parents < 0
    reached = inside | accepted[shape.parents.clamp_min(0)]
    tested = reached & ~(shape.earlier & accepted[None]).any(1)               # siblings behind the accepted one are never tested
    residual = p.index_select(0, at.view(1))[0]
    child = shape.parents + 1 == at
    if q is None:
        left = torch.where(_mentioned(drafted, child, residual), 0, residual)
        mass = left.sum()
        residual = torch.where(mass > TINY, left / mass.clamp_min(TINY), residual)
    elif n:
        last = torch.where(child, torch.arange(n, device=drafted.device), -1).amax().view(1)      # its child tested last, all of them refused
        left = residual_law(rest.index_select(0, last.clamp_min(0))[0], q.index_select(0, last.clamp_min(0))[0])
        residual = torch.where(last >= 0, left, residual)
    return Verdict(accepted, tested, threshold, at, residual, draw(residual, u_next))


def _mentioned(drafted: Tensor, which: Tensor, like: Tensor) -> Tensor:
    """[V] bool: the ids of the nodes marked in `which`."""
    return torch.zeros_like(like).index_add_(0, drafted, which.to(like.dtype)) > 0


def _rest_before(p: Tensor, q: Tensor, shape: Tree) -> Tensor:
    """[N, V]: what is left of p at each node's prefix after its earlier siblings were rejected."""
    rest = p.index_select(0, shape.parents + 1)
    order = torch.arange(q.shape[0], device=q.device)
    before = torch.where(shape.earlier, order, -1).amax(1, keepdim=True) if len(order) else order      # the sibling tested just before, -1 none
    for i in range(1, q.shape[0]):
        sibling = before[i].clamp_min(0)
        left = residual_law(rest.index_select(0, sibling)[0], q.index_select(0, sibling)[0])
        rest[i] = torch.where(before[i] >= 0, left, rest[i])
    return rest


def typical(p: Tensor, drafted: Tensor, shape: Tree, u_next: Tensor, epsilon: float, delta: float) -> Verdict:
    """Typical acceptance (Cai et al. 2024, Medusa, sec. 3.3.1): LOSSY. Keep x while p(x) > min(epsilon, delta * exp(-H(p))).

    Of the paths kept to the greatest depth the first wins; the next token is drawn from p behind it.
    """
    n = drafted.shape[0]
    rows = p[shape.parents + 1]
    entropy = -(rows * rows.clamp_min(1e-20).log()).sum(-1)
    bar = (delta * (-entropy).exp()).clamp_max(epsilon)
    p_x = rows.gather(1, drafted[:, None])[:, 0]
    alive = (~shape.ancestors | (p_x > bar)[None]).all(1)
    reach = torch.where(alive, shape.depth, 0)
    best = reach.argmax().view(1) if n else None                              # argmax takes the first of equals
    accepted = shape.ancestors.index_select(0, best)[0] & (reach.index_select(0, best) > 0) if n else torch.zeros_like(drafted, dtype=torch.bool)
    at = torch.where(accepted, torch.arange(1, n + 1, device=p.device), 0).amax() if n else p.new_zeros((), dtype=torch.long)
    law = p.index_select(0, at.view(1))[0]
    return Verdict(accepted, torch.ones_like(accepted), bar, at, law, draw(law, u_next))


def residual_law(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p - q)) over the last dimension; norm(p) itself where the two agree to rounding."""
    rest = (p - q).clamp_min(0)
    mass = rest.sum(-1, keepdim=True)
    return torch.where(mass > TINY, rest / mass.clamp_min(TINY), p / p.sum(-1, keepdim=True))


def one_hot(drafted: Tensor, vocab_size: int, dtype: torch.dtype) -> Tensor:
    """Law of a deterministic draft: drafted [..., k] -> [..., k, V]."""
    law = torch.zeros(*drafted.shape, vocab_size, dtype=dtype, device=drafted.device)
    return law.scatter_(-1, drafted.unsqueeze(-1), 1.0)


def _own(p: Tensor, q: Tensor, drafted: Tensor) -> tuple[Tensor, Tensor]:
    at = drafted.unsqueeze(-1)
    return p[..., :drafted.shape[-1], :].gather(-1, at).squeeze(-1), q.gather(-1, at).squeeze(-1)


def _padded(q: Tensor) -> Tensor:
    """q with a zero row behind: nothing was drafted at the bonus position."""
    return torch.cat([q, q.new_zeros(*q.shape[:-2], 1, q.shape[-1])], -2)


def _row(rows: Tensor, index: Tensor) -> Tensor:
    """rows [..., n, V], index [...] -> [..., V]."""
    return rows.gather(-2, index[..., None, None].expand(*index.shape, 1, rows.shape[-1])).squeeze(-2)
