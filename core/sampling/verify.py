"""Verification: accepts or rejects drafted tokens and draws the next one. The output has the target's distribution (but not with `typical`).

p is the target's distribution, q the one that the drafted token was really drawn from, both after every sampling option; a deterministic
draft has a one-hot q. The uniforms u, and the noise of `coupled`, are arguments. `chain`, `block` and a chain of `coupled` take any leading
batch dimensions, written [...].
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.sampling import race
from core.sampling.probs import draw
from core.sampling.tree import Tree

TINY = 1e-12    # a residual of less mass is rounding error: p == q there, and p itself is the distribution to draw from


@dataclass
class VerifyResult:
    """What a verifier decides about N drafted tokens."""
    accepted: Tensor      # [..., N] bool: a prefix of a chain, or one path of a tree from the root
    tested: Tensor        # [..., N] bool: tested and not accepted means rejected
    acceptance_prob: Tensor     # [..., N]: what u is compared with (`threshold` in a trace); accepted iff u is below it
    at: Tensor            # [...] int64: position at which next_id is drawn; 0 = root, i + 1 = after node i
    residual: Tensor      # [..., V]: the distribution that next_id is drawn from
    next_id: Tensor       # [...] int64: recovered (after a rejection) or bonus token


def chain(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Speculative sampling of one chain (Leviathan et al. 2023, alg. 1; Chen et al. 2023, alg. 2).

    p [..., k+1, V], q [..., k, V], drafted [..., k] ids, u [..., k] and u_next [...] uniform in [0, 1).
    Token i is accepted iff u_i < p_i(x_i) / q_i(x_i): strictly, so that u = 0 never accepts a token of probability 0. The ratio is
    computed in float64, so that a reader of the trace who compares the recorded numbers comes to the same result.
    """
    p_x, q_x = _of_drafted(p, q, drafted)
    acceptance_prob = p_x.double() / q_x.double()                             # 0 / 0 is NaN, which no u is below: rejected
    accepted = (u < acceptance_prob).long().cumprod(-1)
    count = accepted.sum(-1)
    residual = residual_distribution(_row(p, count), _row(_padded(q), count))
    tested = torch.cat([torch.ones_like(accepted[..., :1]), accepted[..., :-1]], -1)[..., :accepted.shape[-1]]
    return VerifyResult(accepted.bool(), tested.bool(), acceptance_prob, count, residual, draw(residual, u_next))


def block(p: Tensor, q: Tensor, drafted: Tensor, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Block verification (Sun et al. 2024, alg. 2): tests the draft as a whole; on average it accepts at least as many tokens as `chain`.

    Shapes as in `chain`. With w_0 = 1, w_i = min(1, w_{i-1} p_i(x_i) / q_i(x_i)) and s_i = sum_x max(0, w_i p_{i+1}(x) - q_{i+1}(x)), the acceptance
    probabilities are h_i = s_i / (s_i + 1 - w_i) for i < k, and h_k = w_k. All tokens up to the last i with u_i < h_i are accepted. Every
    token is tested.
    """
    p_x, q_x = _of_drafted(p, q, drafted)
    k = drafted.shape[-1]
    ratio, weights = p_x / q_x, [torch.ones_like(p[..., 0, 0])]
    for i in range(k):
        weights.append((weights[-1] * ratio[..., i]).clamp_max(1))
    w = torch.stack(weights, -1)                                              # [..., k+1]
    excess = (w[..., 1:, None] * p[..., 1:, :] - _padded(q)[..., 1:, :]).clamp_min(0).sum(-1)     # [..., k], s_i for i = 1..k
    inner = torch.where(excess > TINY, excess / (excess + 1 - w[..., 1:]).clamp_min(TINY), 0)
    h = torch.cat([inner[..., :-1], w[..., k:]], -1)[..., :k]                 # with k = 0 there is nothing to compare
    positions = torch.arange(1, k + 1, device=u.device)
    count = torch.where(u < h, positions, 0).amax(-1) if k else torch.zeros_like(u_next, dtype=torch.long)
    scaled = _row(p, count) * w.gather(-1, count.unsqueeze(-1))
    residual = residual_distribution(scaled, _row(_padded(q), count))
    accepted = positions <= count.unsqueeze(-1)
    return VerifyResult(accepted, torch.ones_like(accepted), h, count, residual, draw(residual, u_next))


def tree(p: Tensor, q: Tensor | None, drafted: Tensor, shape: Tree, u: Tensor, u_next: Tensor) -> VerifyResult:
    """Multi-step speculative sampling of a tree (SpecInfer, Miao et al. 2024; siblings drawn without replacement: RSD, Jeon et al. 2024).

    Siblings are tested one after the other, each against the residual that the rejected ones before it have left of p.
    p [N+1, V]: row 0 at the root, row i + 1 after node i; drafted [N], u [N], u_next [].

    q [N, V]: row j is the distribution that node j was drawn from, given its earlier siblings. q None: deterministic siblings (one-hot
    each); the residual is then p without the earlier siblings, and only the last step needs a vector over the vocabulary.
    """
    if q is None:
        acceptance_prob = _acceptance_of_fixed(p, drafted, shape)
    else:
        left = _left_before(p, q, shape)
        acceptance_prob = left.gather(1, drafted[:, None])[:, 0].double() / q.gather(1, drafted[:, None])[:, 0].double()
    accepted, tested, at = _walk(u < acceptance_prob, shape)
    residual = _residual_of_fixed(p, drafted, shape, at) if q is None else _residual_of_drawn(p, left, q, shape, at)
    return VerifyResult(accepted, tested, acceptance_prob, at, residual, draw(residual, u_next))


def _walk(below: Tensor, shape: Tree) -> tuple[Tensor, Tensor, Tensor]:
    """below [N] bool: u is below the node's acceptance probability. -> accepted [N], tested [N], position of the last accepted node []."""
    n = below.shape[0]
    chosen = below & ~(shape.earlier & below[None]).any(1)                    # of each group of siblings, the first with u below
    accepted = (~shape.ancestors | chosen[None]).all(1)
    reached = (shape.parents < 0) | accepted[shape.parents.clamp_min(0)]
    tested = reached & ~(shape.earlier & accepted[None]).any(1)               # siblings after the accepted one are not tested
    positions = torch.arange(1, n + 1, device=below.device)                   # of the nodes; 0 is the root
    at = torch.where(accepted, positions, 0).amax() if n else positions.new_zeros(())
    return accepted, tested, at


def _acceptance_of_fixed(p: Tensor, drafted: Tensor, shape: Tree) -> Tensor:
    """Acceptance probabilities [N] of deterministic nodes: p(x) / (1 - mass of the earlier siblings, all rejected)."""
    p_x = p[shape.parents + 1, drafted]
    gone = (shape.earlier.to(p.dtype) @ p_x).clamp_max(1)
    return torch.where(p_x > 0, p_x / (1 - gone).clamp_min(TINY), 0)


def _residual_of_fixed(p: Tensor, drafted: Tensor, shape: Tree, at: Tensor) -> Tensor:
    """Residual [V] at position `at`: p without the deterministic children there, all rejected; p itself where they hold all the mass."""
    here = p.index_select(0, at.view(1))[0]
    children = torch.zeros_like(here).index_add_(0, drafted, (shape.parents + 1 == at).to(here.dtype)) > 0
    left = torch.where(children, 0, here)
    mass = left.sum()
    return torch.where(mass > TINY, left / mass.clamp_min(TINY), here)


def _left_before(p: Tensor, q: Tensor, shape: Tree) -> Tensor:
    """Residual [N, V] that each node is tested against: p after its parent, less its earlier siblings, all rejected."""
    left = p.index_select(0, shape.parents + 1)
    order = torch.arange(q.shape[0], device=q.device)
    before = torch.where(shape.earlier, order, -1).amax(1, keepdim=True) if len(order) else order      # the sibling tested just before, -1 = none
    for i in range(1, q.shape[0]):
        sibling = before[i].clamp_min(0)
        after = residual_distribution(left.index_select(0, sibling)[0], q.index_select(0, sibling)[0])
        left[i] = torch.where(before[i] >= 0, after, left[i])
    return left


def _residual_of_drawn(p: Tensor, left: Tensor, q: Tensor, shape: Tree, at: Tensor) -> Tensor:
    """Residual [V] at position `at` after all children there were rejected; p itself where no child was drafted."""
    here = p.index_select(0, at.view(1))[0]
    n = q.shape[0]
    if not n:
        return here
    last = torch.where(shape.parents + 1 == at, torch.arange(n, device=q.device), -1).amax().view(1)
    after = residual_distribution(left.index_select(0, last.clamp_min(0))[0], q.index_select(0, last.clamp_min(0))[0])
    return torch.where(last >= 0, after, here)


def coupled(p: Tensor, drafted: Tensor, shape: Tree | None, noise: Tensor) -> VerifyResult:
    """Drafter-invariant verification (Daliri et al. 2024): a token is accepted iff it wins the target's race with the noise of its position.

    Shapes as in `chain` (shape None) or `tree`; noise [..., levels+1, V]: row d of the positions d tokens after the root. The next token wins
    the race at its own position, so every emitted token is a function of p and noise. acceptance_prob is 1 or 0.
    """
    n = drafted.shape[-1]
    if shape is None:
        choice = race.winner(p, noise[..., :n + 1, :])
        hit = drafted == choice[..., :n]
        accepted = hit.long().cumprod(-1)
        at = accepted.sum(-1)
        tested = torch.cat([torch.ones_like(accepted[..., :1]), accepted[..., :-1]], -1)[..., :n].bool()
        accepted = accepted.bool()
    else:
        choice = race.winner(p, noise.index_select(0, torch.cat([shape.depth.new_zeros(1), shape.depth])))
        hit = drafted == choice.gather(0, shape.parents + 1)
        accepted, tested, at = _walk(hit, shape)
    return VerifyResult(accepted, tested, hit.double(), at, _row(p, at), choice.gather(-1, at.unsqueeze(-1)).squeeze(-1))


def typical(p: Tensor, drafted: Tensor, shape: Tree, u_next: Tensor, epsilon: float, delta: float) -> VerifyResult:
    """Typical acceptance (Medusa, Cai et al. 2024, sec. 3.3.1), which is LOSSY: x is accepted while p(x) > min(epsilon, delta * exp(-H(p))).

    Shapes as in `tree`. The first of the deepest accepted paths is taken, and the next token is drawn from p after it. acceptance_prob
    holds the bound that p(x) is compared with, since no uniform decides.
    """
    n = drafted.shape[0]
    rows = p[shape.parents + 1]
    entropy = -(rows * rows.clamp_min(1e-20).log()).sum(-1)
    bound = (delta * (-entropy).exp()).clamp_max(epsilon)
    p_x = rows.gather(1, drafted[:, None])[:, 0]
    alive = (~shape.ancestors | (p_x > bound)[None]).all(1)                   # the node and all its ancestors
    reach = torch.where(alive, shape.depth, 0)
    best = reach.argmax().view(1) if n else None                              # argmax takes the first of equals
    accepted = shape.ancestors.index_select(0, best)[0] & (reach.index_select(0, best) > 0) if n else torch.zeros_like(drafted, dtype=torch.bool)
    at = torch.where(accepted, torch.arange(1, n + 1, device=p.device), 0).amax() if n else p.new_zeros((), dtype=torch.long)
    dist = p.index_select(0, at.view(1))[0]
    return VerifyResult(accepted, torch.ones_like(accepted), bound, at, dist, draw(dist, u_next))


def residual_distribution(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p - q)) over the last dimension (Leviathan et al. 2023); norm(p) where p and q are equal up to rounding."""
    rest = (p - q).clamp_min(0)
    mass = rest.sum(-1, keepdim=True)
    return torch.where(mass > TINY, rest / mass.clamp_min(TINY), p / p.sum(-1, keepdim=True))


def one_hot(drafted: Tensor, vocab_size: int, dtype: torch.dtype) -> Tensor:
    """q of a deterministic draft: drafted [..., k] -> [..., k, V]."""
    dist = torch.zeros(*drafted.shape, vocab_size, dtype=dtype, device=drafted.device)
    return dist.scatter_(-1, drafted.unsqueeze(-1), 1.0)


def _of_drafted(p: Tensor, q: Tensor, drafted: Tensor) -> tuple[Tensor, Tensor]:
    """p(x) and q(x) [..., k] of the drafted tokens."""
    at = drafted.unsqueeze(-1)
    return p[..., :drafted.shape[-1], :].gather(-1, at).squeeze(-1), q.gather(-1, at).squeeze(-1)


def _padded(q: Tensor) -> Tensor:
    """q with a row of zeros for the bonus position, where nothing was drafted: its residual is p."""
    return torch.cat([q, q.new_zeros(*q.shape[:-2], 1, q.shape[-1])], -2)


def _row(rows: Tensor, index: Tensor) -> Tensor:
    """rows [..., n, V], index [...] -> [..., V]."""
    return rows.gather(-2, index[..., None, None].expand(*index.shape, 1, rows.shape[-1])).squeeze(-2)
