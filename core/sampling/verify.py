"""Verification: pure tensor functions whose output is distributed as the target's own (`typical` alone is lossy). The uniforms are arguments.

p is the target's distribution, q the distribution the drafted token was really drawn from, both after every sampling option. A deterministic
draft has a one-hot q. `chain` and `block` take any leading batch dimensions, written [...].
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.sampling.probs import draw
from core.sampling.tree import Tree

TINY = 1e-12    # a residual lighter than this is rounding dust: p == q there, so p itself is the right distribution


@dataclass
class VerifyResult:
    accepted: Tensor      # [..., N] bool: in a chain a prefix, in a tree one path
    tested: Tensor        # [..., N] bool: tested and not accepted = rejected
    acceptance_prob: Tensor     # [..., N]: what u was compared with (`threshold` in a trace); accepted iff u is below it
    at: Tensor            # [...] int64: position of the pass whose distribution next_id comes from; 0 = root, i + 1 = after node i
    residual: Tensor      # [..., V]: that distribution
    next_id: Tensor       # [...] int64: recovered (after a rejection) or bonus token


def chain(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Speculative sampling of one chain (Leviathan et al. 2023, alg. 1; Chen et al. 2023, alg. 2).

    p [..., k+1, V], q [..., k, V], drafted [..., k] ids, u [..., k] and u_next [...] uniform in [0, 1).
    Token i is accepted iff u_i < p_i(x_i) / q_i(x_i): strict, so that u = 0 never accepts a token of probability 0. The ratio is taken
    in float64, so that the recorded number decides as it did here.
    """
    p_x, q_x = _own(p, q, drafted)
    acceptance_prob = p_x.double() / q_x.double()                             # 0 / 0 is NaN: not accepted
    accepted = (u < acceptance_prob).long().cumprod(-1)
    count = accepted.sum(-1)
    residual = residual_distribution(_row(p, count), _row(_padded(q), count))
    tested = torch.cat([torch.ones_like(accepted[..., :1]), accepted[..., :-1]], -1)[..., :accepted.shape[-1]]
    return VerifyResult(accepted.bool(), tested.bool(), acceptance_prob, count, residual, draw(residual, u_next))


def block(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Block verification (Sun et al. 2024, alg. 2): the joint distribution of the block is tested, which accepts at
    least as many tokens as `chain`.

    With w_0 = 1, w_i = min(1, w_{i-1} p_i(x_i) / q_i(x_i)) and s_i = sum_x max(0, w_i p_{i+1}(x) - q_{i+1}(x)), the acceptance
    probabilities are h_i = s_i / (s_i + 1 - w_i) inside and h_k = w_k at the end. Accepted: up to the last i with u_i < h_i. Every token
    is tested.
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
    residual = residual_distribution(scaled, _row(_padded(q), count))
    accepted = places <= count.unsqueeze(-1)
    return VerifyResult(accepted, torch.ones_like(accepted), h, count, residual, draw(residual, u_next))


def tree(p: Tensor, q: Tensor | None, drafted: Tensor, shape: Tree, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Siblings are tested one after the other, each against what the rejected ones before it have left of p (SpecInfer, Miao et al. 2024;
    without replacement: Jeon et al. 2024). p [N+1, V], drafted [N], u [N], u_next scalar; p row 0 = root, row i + 1 = after node i.

    q None: deterministic siblings (one-hot each): what is left of p is p without the earlier siblings, and no vector of the
    vocabulary is touched before the last step. Else q [N, V], row j the distribution that node j was drawn from, given its earlier siblings.
    """
    if q is None:
        acceptance_prob = _acceptance_of_fixed(p, drafted, shape)
    else:
        left = _left_before(p, q, shape)
        acceptance_prob = left.gather(1, drafted[:, None])[:, 0].double() / q.gather(1, drafted[:, None])[:, 0].double()
    accepted, tested, at = _walk(u < acceptance_prob, shape)
    residual = _residual_of_fixed(p, drafted, shape, at) if q is None else _residual_of_drawn(p, left, q, shape, at)
    return VerifyResult(accepted, tested, acceptance_prob, at, residual, draw(residual, u_next))


def _walk(passes: Tensor, shape: Tree) -> tuple[Tensor, Tensor, Tensor]:
    """passes [N] bool: each node by itself -> accepted [N], tested [N], position of the last accepted node [] (0 root, i + 1 = node i)."""
    n = passes.shape[0]
    chosen = passes & ~(shape.earlier & passes[None]).any(1)                  # the first sibling that passes
    accepted = (~shape.ancestors | chosen[None]).all(1)
    reached = (shape.parents < 0) | accepted[shape.parents.clamp_min(0)]
    tested = reached & ~(shape.earlier & accepted[None]).any(1)               # siblings behind the accepted one are never tested
    places = torch.arange(1, n + 1, device=passes.device)
    at = torch.where(accepted, places, 0).amax() if n else places.new_zeros(())
    return accepted, tested, at


def _acceptance_of_fixed(p: Tensor, drafted: Tensor, shape: Tree) -> Tensor:
    """[N]: p of each deterministic node over the mass that its rejected siblings have left."""
    p_x = p[shape.parents + 1, drafted]
    gone = (shape.earlier.to(p.dtype) @ p_x).clamp_max(1)
    return torch.where(p_x > 0, p_x / (1 - gone).clamp_min(TINY), 0)


def _residual_of_fixed(p: Tensor, drafted: Tensor, shape: Tree, at: Tensor) -> Tensor:
    """[V]: p at position `at` without the deterministic children there, all of them rejected; p itself where nothing else is left."""
    here = p.index_select(0, at.view(1))[0]
    children = torch.zeros_like(here).index_add_(0, drafted, (shape.parents + 1 == at).to(here.dtype)) > 0
    left = torch.where(children, 0, here)
    mass = left.sum()
    return torch.where(mass > TINY, left / mass.clamp_min(TINY), here)


def _left_before(p: Tensor, q: Tensor, shape: Tree) -> Tensor:
    """[N, V]: what is left of p at each node's prefix after its earlier siblings were rejected."""
    left = p.index_select(0, shape.parents + 1)
    order = torch.arange(q.shape[0], device=q.device)
    before = torch.where(shape.earlier, order, -1).amax(1, keepdim=True) if len(order) else order      # the sibling tested just before, -1 none
    for i in range(1, q.shape[0]):
        sibling = before[i].clamp_min(0)
        after = residual_distribution(left.index_select(0, sibling)[0], q.index_select(0, sibling)[0])
        left[i] = torch.where(before[i] >= 0, after, left[i])
    return left


def _residual_of_drawn(p: Tensor, left: Tensor, q: Tensor, shape: Tree, at: Tensor) -> Tensor:
    """[V]: what the last tested child at position `at` has left, all children rejected; p there where none was drafted."""
    here = p.index_select(0, at.view(1))[0]
    n = q.shape[0]
    if not n:
        return here
    last = torch.where(shape.parents + 1 == at, torch.arange(n, device=q.device), -1).amax().view(1)
    after = residual_distribution(left.index_select(0, last.clamp_min(0))[0], q.index_select(0, last.clamp_min(0))[0])
    return torch.where(last >= 0, after, here)


def typical(p: Tensor, drafted: Tensor, shape: Tree, u_next: Tensor, epsilon: float, delta: float) -> VerifyResult:
    """Typical acceptance (Cai et al. 2024, Medusa, sec. 3.3.1): LOSSY. Accept x while p(x) > min(epsilon, delta * exp(-H(p))).

    Of the deepest accepted paths the first wins; the next token is drawn from p behind it. acceptance_prob holds the bound on p(x).
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
    dist = p.index_select(0, at.view(1))[0]
    return VerifyResult(accepted, torch.ones_like(accepted), bar, at, dist, draw(dist, u_next))


def residual_distribution(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p - q)) over the last dimension; norm(p) itself where the two agree to rounding."""
    rest = (p - q).clamp_min(0)
    mass = rest.sum(-1, keepdim=True)
    return torch.where(mass > TINY, rest / mass.clamp_min(TINY), p / p.sum(-1, keepdim=True))


def one_hot(drafted: Tensor, vocab_size: int, dtype: torch.dtype) -> Tensor:
    """Distribution of a deterministic draft: drafted [..., k] -> [..., k, V]."""
    dist = torch.zeros(*drafted.shape, vocab_size, dtype=dtype, device=drafted.device)
    return dist.scatter_(-1, drafted.unsqueeze(-1), 1.0)


def _own(p: Tensor, q: Tensor, drafted: Tensor) -> tuple[Tensor, Tensor]:
    at = drafted.unsqueeze(-1)
    return p[..., :drafted.shape[-1], :].gather(-1, at).squeeze(-1), q.gather(-1, at).squeeze(-1)


def _padded(q: Tensor) -> Tensor:
    """q with a zero row behind: nothing was drafted at the bonus position."""
    return torch.cat([q, q.new_zeros(*q.shape[:-2], 1, q.shape[-1])], -2)


def _row(rows: Tensor, index: Tensor) -> Tensor:
    """rows [..., n, V], index [...] -> [..., V]."""
    return rows.gather(-2, index[..., None, None].expand(*index.shape, 1, rows.shape[-1])).squeeze(-2)
