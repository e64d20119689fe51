"""Coupled verification: the emitted tokens are those of the race without a draft, so their distribution is the target's, for every draft."""
from __future__ import annotations

import pytest
import torch
from torch import Tensor

from core.sampling import probs, race, verify
from core.sampling.race import Noise
from core.sampling.tree import Tree
from tests.core.sampling.test_statistics import SAMPLES, SIZE, p_value, pooled
from tests.core.sampling.test_verify import F64, Prefixes

CPU = torch.device("cpu")
SHAPE = Tree.of(torch.tensor([-1, -1, 0, 0, 1]), 2)


def table(seed: int, zeros: float = 0.0, hot: bool = False) -> tuple[Tensor, Tensor]:
    """Distributions of the first token [V] and of the second one after each first token [V, V]."""
    model = Prefixes(SIZE, seed, zeros, hot)
    return model(()), torch.stack([model((x,)) for x in range(SIZE)])


P = table(1, 0.2)
DRAFTS = {"perfect": P, "random": table(2), "zeros": table(3, 0.4), "one-hot": tuple((p == p.amax(-1, keepdim=True)).double() for p in P),
          "wrong": tuple((1 - p) / (SIZE - 1) for p in P), "impossible": tuple((p == 0).double().index_fill_(-1, torch.tensor(0), 1e-9) for p in P)}


@pytest.fixture(scope="module")
def noise() -> Tensor:
    """[SAMPLES, 3, V]: three successive positions for each sample."""
    return Noise(4, SIZE, CPU).rows(0, 3 * SAMPLES).view(SAMPLES, 3, SIZE)


def drafted_chain(q: tuple[Tensor, Tensor], noise: Tensor) -> Tensor:
    first = race.winner(q[0], noise[:, 0])
    return torch.stack([first, race.winner(q[1][first], noise[:, 1])], 1)


def rows(x: Tensor) -> Tensor:
    """p at the root and after each drafted token [n, N] -> [n, N+1, V]; at the second level the third token's p is that after the second."""
    return torch.cat([P[0].expand(len(x), 1, SIZE), P[1][x]], 1)


def chain_pairs(x: Tensor, noise: Tensor) -> tuple[Tensor, verify.VerifyResult]:
    """The first two tokens that coupled verification of the chains x [n, 2] gives; a second round without a draft adds what is missing."""
    v = verify.coupled(rows(x), x, None, noise)
    count = v.accepted.sum(-1)
    first = torch.where(count > 0, x[:, 0], v.next_id)
    again = verify.coupled(P[1][first][:, None], x[:, :0], None, noise[:, 1:2]).next_id
    return torch.stack([first, torch.where(count == 2, x[:, 1], torch.where(count == 1, v.next_id, again))], 1), v


def plain_pairs(noise: Tensor) -> Tensor:
    return drafted_chain(P, noise)


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_chain_gives_the_tokens_of_the_race_without_a_draft(noise, draft):
    pairs, v = chain_pairs(drafted_chain(DRAFTS[draft], noise), noise)
    assert torch.equal(pairs, plain_pairs(noise))
    assert p_value(pairs, P) > 0.001
    assert bool(v.accepted.all()) == (draft == "perfect")
    assert (not v.accepted.any()) == (draft == "impossible")
    assert v.acceptance_prob.unique().tolist() == {"perfect": [1], "impossible": [0]}.get(draft, [0, 1])


def tree_pairs(x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The same for trees of SHAPE, nodes x [n, 5]. -> (pairs, accepted [n, 5])."""
    out = torch.vmap(lambda p, t, e: tuple(vars(verify.coupled(p, t, SHAPE, e)).values()))(rows(x), x, noise)
    v = verify.VerifyResult(*out)
    first, second = (torch.where(v.accepted & (SHAPE.depth == d), x, -1).amax(1) for d in (1, 2))
    second = torch.where(second >= 0, second, torch.where(first >= 0, v.next_id, -1))
    first = torch.where(first >= 0, first, v.next_id)
    again = verify.coupled(P[1][first][:, None], x[:, :0], None, noise[:, 1:2]).next_id
    return torch.stack([first, torch.where(second >= 0, second, again)], 1), v.accepted


def siblings(dist: Tensor, noise: Tensor, n: int) -> list[Tensor]:
    """The first n of the race, [samples] each."""
    found = []
    for _ in range(n):
        found.append(race.winner(dist, noise))
        dist = dist.scatter(-1, found[-1][:, None], 0.0)
    return found


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_tree_gives_the_tokens_of_the_race_without_a_draft(noise, draft):
    q = DRAFTS[draft]
    a, b = siblings(q[0].expand(SAMPLES, SIZE), noise[:, 0], 2)
    x = torch.stack([a, b, *siblings(q[1][a], noise[:, 1], 2), *siblings(q[1][b], noise[:, 1], 1)], 1)
    pairs, accepted = tree_pairs(x, noise)
    assert torch.equal(pairs, plain_pairs(noise))
    assert p_value(pairs, P) > 0.001
    if draft == "perfect":
        assert bool(accepted[:, 0].all() and accepted[:, 2].all())
    elif draft == "random":
        chain = chain_pairs(x[:, [0, 2]], noise)[1].accepted
        assert accepted.sum() > 1.1 * chain.sum()           # a second candidate is worth something
        assert bool(accepted[:, 1].any() and accepted[:, 3].any() and accepted[:, 4].any())


def test_fixed_trees_too(noise):
    x = torch.tensor([3, 5, 1, 2, 3]).expand(SAMPLES, 5)
    assert torch.equal(tree_pairs(x, noise)[0], plain_pairs(noise))


def test_a_reused_row_is_found(noise):
    """The negative control: with one row for two positions each token looks right alone, and the pairs do not."""
    same = noise[:, :1].expand(SAMPLES, 3, SIZE)
    pairs, _ = chain_pairs(drafted_chain(DRAFTS["random"], same), same)
    assert pooled(torch.bincount(pairs[:, 0], minlength=SIZE), P[0]) > 0.001
    assert p_value(pairs, P) < 1e-6


def test_one_rejection_by_hand():
    """Tested and not accepted is rejected, what follows is not reached; the residual is p itself where the next token is drawn."""
    p = torch.tensor([[.1, .9, 0], [.5, .25, .25], [.2, .3, .5], [1, 0, 0]], dtype=F64)
    noise = torch.ones(4, 3, dtype=F64)                     # so the likeliest token wins
    v = verify.coupled(p, torch.tensor([1, 2, 2]), None, noise)
    assert v.accepted.tolist() == [True, False, False] and v.tested.tolist() == [True, True, False]
    assert v.acceptance_prob.tolist() == [1, 0, 1] and int(v.at) == 1 and int(v.next_id) == 0 and torch.equal(v.residual, p[1])
    v = verify.coupled(p, torch.tensor([1, 0, 2]), None, noise)
    assert v.accepted.all() and int(v.at) == 3 and int(v.next_id) == 0 and torch.equal(v.residual, p[3])
    v = verify.coupled(p[:1], torch.empty(0, dtype=torch.long), None, noise[:1])
    assert v.accepted.shape == (0,) and int(v.at) == 0 and int(v.next_id) == 1


def test_a_tree_by_hand():
    """The accepted child's later siblings are not tested; nodes of one depth share a row of noise."""
    p = torch.tensor([[.1, .9, 0], [.5, .3, .2], [.2, .3, .5], [.1, .2, .7]], dtype=F64)
    noise = torch.tensor([[1, 1, 1], [1, 1, 9], [1, 9, 1]], dtype=F64)
    tree = Tree.of(torch.tensor([-1, -1, 0]), 2)
    v = verify.coupled(p, torch.tensor([1, 0, 0]), tree, noise)
    assert v.accepted.tolist() == [True, False, True] and v.tested.tolist() == [True, False, True] and int(v.at) == 3 and int(v.next_id) == 2
    v = verify.coupled(p, torch.tensor([0, 1, 0]), tree, noise)
    assert v.accepted.tolist() == [False, True, False] and v.tested.tolist() == [True, True, False]
    assert int(v.at) == 2 and int(v.next_id) == 1 and torch.equal(v.residual, p[2])     # .2/1 < .3/1 > .5/9


def test_an_empty_tree():
    v = verify.coupled(P[0][None], torch.empty(0, dtype=torch.long), Tree.of(torch.empty(0, dtype=torch.long), 2), torch.ones(3, SIZE, dtype=F64))
    assert int(v.at) == 0 and int(v.next_id) == int(P[0].argmax())


def test_float32_probabilities_race_in_float64():
    """Two tokens whose ratios differ by less than float32 resolves."""
    p = torch.tensor([[.5, .5, 0]])
    assert int(verify.coupled(p, torch.empty(0, dtype=torch.long), None, torch.tensor([[1, 1 - 1e-12, 1]], dtype=F64)).next_id) == 1


@pytest.mark.parametrize("seed", range(12))
def test_acceptance_is_what_theory_says(noise, seed):
    """P[accept] = sum_i 1 / sum_j max(p_j / p_i, q_j / q_i): at least (1 - TV) / (1 + TV), never above the 1 - TV of `chain` (Daliri et al. 2024)."""
    p, q = Prefixes(SIZE, seed, 0.2)(()), Prefixes(SIZE, 50 + seed, 0.2 if seed % 2 else 0.0)(())
    both = (p > 0) & (q > 0)
    ratio = torch.maximum(p[None] / p[both, None], q[None] / q[both, None])
    exact, tv = float((1 / ratio.sum(1)).sum()), float((p - q).abs().sum() / 2)
    assert (1 - tv) / (1 + tv) - 1e-12 <= exact <= 1 - tv + 1e-12
    e = noise.reshape(-1, SIZE)
    x = race.winner(q.expand(len(e), SIZE), e)[:, None]
    stacked = p.expand(len(e), 2, SIZE)
    got = float(verify.coupled(stacked, x, None, torch.stack([e, e], 1)).accepted.double().mean())
    spread = 4 * (exact * (1 - exact) / len(e)) ** 0.5 + 1e-9
    assert got == pytest.approx(exact, abs=spread)
    rng = torch.Generator().manual_seed(seed)
    drawn = probs.draw(q.expand(len(e), SIZE), torch.rand(len(e), generator=rng, dtype=F64))[:, None]
    u = torch.rand(len(e), 1, generator=rng, dtype=F64)
    chain = float(verify.chain(stacked, q.expand(len(e), 1, SIZE), drawn, u, u[:, 0]).accepted.double().mean())
    assert chain == pytest.approx(1 - tv, abs=4 * (0.25 / len(e)) ** 0.5) and got <= chain + 2 * spread
