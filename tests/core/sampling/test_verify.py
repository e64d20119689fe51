"""The chain keeps the target's distribution exactly: every outcome enumerated, the uniforms integrated out."""
from __future__ import annotations

import itertools
import math

import pytest
import torch

from core.sampling import verify
from core.sampling.tree import Tree

F64 = torch.float64
BELOW_ONE = 1 - 2 ** -53


def dist(*weights: float) -> torch.Tensor:
    w = torch.tensor(weights, dtype=F64)
    return w / w.sum()


def chain(p, q, drafted, u, u_next=0.5):
    return verify.chain(torch.as_tensor(p, dtype=F64), torch.as_tensor(q, dtype=F64), torch.tensor(drafted), torch.tensor(u, dtype=F64),
                        torch.tensor(u_next, dtype=F64))


def kept(v) -> int:
    return int(v.accepted.sum())


class Prefixes:
    """A random distribution for every prefix: a language model as a table. zeros: share of impossible tokens."""

    def __init__(self, size: int, seed: int, zeros: float = 0.0, hot: bool = False) -> None:
        self.size, self.seed, self.zeros, self.hot = size, seed, zeros, hot

    def __call__(self, prefix: tuple[int, ...]) -> torch.Tensor:
        rng = torch.Generator().manual_seed(hash((self.seed, prefix)) % 2 ** 31)
        w = torch.rand(self.size, generator=rng, dtype=F64) ** 3
        w[torch.rand(self.size, generator=rng) < self.zeros] = 0
        if self.hot or not w.sum():
            w = torch.zeros_like(w)
            w[int(torch.randint(self.size, (1,), generator=rng))] = 1
        return w / w.sum()


def output_law(p, q, size: int, k: int) -> dict[tuple[int, ...], float]:
    """Probability of every k + 1 emitted tokens: one round, and after a rejection the rest drawn from p token by token.

    The acceptance probability of each token is what `chain` itself compares with: min(1, threshold), tried on both sides.
    """
    out: dict[tuple[int, ...], float] = {}
    for drafted in itertools.product(range(size), repeat=k):
        ps = torch.stack([p(drafted[:i]) for i in range(k + 1)])
        qs = torch.stack([q(drafted[:i]) for i in range(k)])
        drawn = math.prod(float(qs[i, x]) for i, x in enumerate(drafted))
        if not drawn:
            continue
        bars = chain(ps, qs, drafted, [0.0] * k).acceptance_prob.tolist()
        for n in range(k + 1):
            chance = drawn * math.prod(min(1.0, bar) for bar in bars[:n]) * ((1 - min(1.0, bars[n])) if n < k else 1.0)
            if chance <= 0:
                continue
            u = [bar * (1 - 1e-9) if bar <= 1 else BELOW_ONE for bar in bars[:n]] + ([bars[n]] if n < k else []) + [0.0] * (k - n - 1)
            v = chain(ps, qs, drafted, u)
            assert kept(v) == n, (drafted, u)
            for x in range(size):
                prefix = (*drafted[:n], x)
                for rest in itertools.product(range(size), repeat=k - n):
                    whole = prefix + rest
                    tail = math.prod(float(p(whole[:i])[whole[i]]) for i in range(n + 1, k + 1))
                    out[whole] = out.get(whole, 0.0) + chance * float(v.residual[x]) * tail
    return out


MODELS = {
    "random": (Prefixes(4, 1), Prefixes(4, 2)), "zeros": (Prefixes(4, 3, 0.4), Prefixes(4, 4, 0.4)), "same": (Prefixes(4, 5), Prefixes(4, 5)),
    "one-hot draft": (Prefixes(4, 6), Prefixes(4, 7, hot=True)), "one-hot target": (Prefixes(4, 8, hot=True), Prefixes(4, 9)),
    "both one-hot": (Prefixes(4, 10, hot=True), Prefixes(4, 11, hot=True)), "disjoint": (lambda x: dist(.5, .5, 0, 0), lambda x: dist(0, 0, .3, .7)),
    "three": (Prefixes(3, 12), Prefixes(3, 13, 0.3)), "five": (Prefixes(5, 14, 0.2), Prefixes(5, 15))}


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_joint_law_of_all_emitted_tokens_is_the_targets(name, k):
    p, q = MODELS[name]
    size = len(p(()))
    if size == 5 and k == 3:
        k = 2
    got = output_law(p, q, size, k)
    for tokens in itertools.product(range(size), repeat=k + 1):
        want = math.prod(float(p(tokens[:i])[x]) for i, x in enumerate(tokens))
        assert got.get(tokens, 0.0) == pytest.approx(want, abs=1e-12)


def test_this_proof_finds_a_wrong_residual(monkeypatch):
    """Trap 3 and 38: without the residual the same enumeration is far off."""
    monkeypatch.setattr(verify, "residual_distribution", lambda p, q: p / p.sum(-1, keepdim=True))
    p, q = MODELS["random"]
    got = output_law(p, q, 4, 1)
    errors = [abs(got[t] - float(p(())[t[0]] * p(t[:1])[t[1]])) for t in got]
    assert max(errors) > 1e-2


@pytest.mark.parametrize(("p", "q", "want"), [
    ([.6, .3, .1], [.2, .3, .5], [1, 0, 0]), ([.2, .3, .5], [.5, .3, .2], [0, 0, 1]), ([.5, .5, 0], [0, 0, 1], [.5, .5, 0]),
    ([.2, .3, .5], [.2, .3, .5], [.2, .3, .5]), ([.2, .3, .5], [0, 0, 0], [.2, .3, .5])])
def test_residual(p, q, want):
    got = verify.residual_distribution(torch.tensor(p, dtype=F64), torch.tensor(q, dtype=F64))
    torch.testing.assert_close(got, torch.tensor(want, dtype=F64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_forced_rejection_where_p_is_q_up_to_rounding(dtype):
    """Trap 4: the residual has no mass, or only dust: a distribution must come out all the same."""
    p = torch.softmax(torch.randn(50, generator=torch.Generator().manual_seed(0)), -1).to(dtype)
    for q in (p.clone(), p.float().to(dtype), (p * (1 + 1e-7))):
        rest = verify.residual_distribution(p, q)
        assert bool(torch.isfinite(rest).all()) and float(rest.sum()) == pytest.approx(1, abs=1e-5)


def test_u_zero_keeps_nothing_impossible():
    """Trap 5."""
    v = chain([[0, .4, .6], [1, 0, 0]], [[.5, .5, 0]], [0], [0.0], 0.0)
    assert kept(v) == 0 and int(v.next_id) == 2


def test_u_just_below_one_keeps_the_certain():
    v = chain([[.2, .8], [.5, .5]], [[.2, .8]], [1], [BELOW_ONE])
    assert kept(v) == 1


@pytest.mark.parametrize("u_next", [0.0, BELOW_ONE])
def test_the_next_token_is_always_possible(u_next):
    v = chain([[0, .5, 0, .5, 0]] * 2, [[.5, .25, 0, 0, .25]], [0], [0.5], u_next)
    assert int(v.next_id) in (1, 3)


def test_not_a_number_in_q_is_a_rejection_and_no_nan_afterwards():
    """Trap 6."""
    v = chain([[.3, .3, .4], [1, 0, 0]], [[math.nan, .5, .5]], [0], [0.0])
    assert kept(v) == 0 and bool(torch.isfinite(v.residual).all()) and float(v.residual.sum()) == pytest.approx(1)


def test_q_zero_at_the_drafted_token_keeps_only_what_the_target_knows():
    assert kept(chain([[.3, .7], [1, 0]], [[0, 1.0]], [0], [0.5])) == 1
    assert kept(chain([[0, 1.0], [1, 0]], [[0, 1.0]], [0], [0.0])) == 0


def test_padding_ids_are_refused():
    """Trap 7: -1 must not quietly read the last column."""
    with pytest.raises((RuntimeError, IndexError)):
        chain([[.5, .5]] * 3, [[.5, .5]] * 2, [0, -1], [0.0, 0.0])


def test_what_follows_a_rejection_is_not_kept():
    """Trap 24, and a later position that would pass does not come back to life."""
    v = chain([[0, 1.0], [.5, .5], [.5, .5]], [[1.0, 0], [.5, .5]], [0, 1], [0.1, 0.0])
    assert kept(v) == 0 and int(v.next_id) == 1


def test_an_empty_draft_draws_from_p():
    v = chain([[.1, .2, .7]], torch.zeros(0, 3), [], [], 0.25)
    assert kept(v) == 0 and int(v.next_id) == 1
    torch.testing.assert_close(v.residual, dist(.1, .2, .7))


def test_thresholds_are_the_ratio_and_decide():
    p = torch.stack([Prefixes(6, 1)((i,)) for i in range(4)])
    q = torch.stack([Prefixes(6, 2)((i,)) for i in range(3)])
    for drafted in itertools.product(range(6), repeat=3):
        u = torch.rand(3, generator=torch.Generator().manual_seed(sum(drafted)), dtype=F64)
        v = verify.chain(p, q, torch.tensor(drafted), u, torch.tensor(0.5, dtype=F64))
        ratio = torch.tensor([p[i, x] / q[i, x] for i, x in enumerate(drafted)], dtype=F64)
        assert torch.equal(v.acceptance_prob, ratio)
        assert kept(v) == int((u < ratio).long().cumprod(0).sum())


def test_batch_rows_are_independent():
    """Trap 33."""
    rng = torch.Generator().manual_seed(0)
    p, q = (torch.rand(50, n, 5, generator=rng, dtype=F64).softmax(-1) for n in (4, 3))
    drafted, u, last = torch.randint(5, (50, 3), generator=rng), torch.rand(50, 3, generator=rng, dtype=F64), torch.rand(50, generator=rng, dtype=F64)
    together = verify.chain(p, q, drafted, u, last)
    for i in range(50):
        alone = verify.chain(p[i], q[i], drafted[i], u[i], last[i])
        for name in ("accepted", "acceptance_prob", "residual", "next_id"):
            torch.testing.assert_close(getattr(together, name)[i], getattr(alone, name))
    assert {int(n) for n in together.accepted.sum(-1)} == {0, 1, 2, 3}


# -- what is recorded decides again as it did --------------------------------------------------------------------------------------


def drawn(seed: int, n: int, size: int = 50) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """float32 p [n+1, V], q [n, V] and n drafted ids: ratios that a product of floats would round to the other side."""
    rng = torch.Generator().manual_seed(seed)
    p, q = (torch.randn(rows, size, generator=rng).softmax(-1) for rows in (n + 1, n))
    return p, q, torch.multinomial(q, 1, generator=rng)[:, 0]


@pytest.mark.parametrize("kind", ["chain", "block", "siblings that are drawn", "siblings that are certain"])
def test_the_recorded_probability_decides_at_its_very_edge(kind):
    n, half = 3, torch.tensor(0.5, dtype=F64)
    flat = Tree.of(torch.tensor([-1, -1, -1]), 1)

    def verify_with(u: torch.Tensor) -> verify.VerifyResult:
        if kind.startswith("siblings"):
            return verify.tree(p, q if "drawn" in kind else None, drafted, flat, u, half)
        return getattr(verify, kind)(p, q, drafted, u, half)

    tried = 0
    for seed in range(60):
        p, q, drafted = drawn(seed, n)
        if kind.startswith("siblings"):
            drafted = drafted.unique()[:n] if len(drafted.unique()) == n else torch.arange(n)
            q = q[:1].repeat(n, 1)
        prob = verify_with(torch.full((n,), 0.999999, dtype=F64)).acceptance_prob.double()
        for i in range(n):
            if not 1e-6 < float(prob[i]) < 0.999:
                continue
            for u_i, passes in ((prob[i], False), (torch.nextafter(prob[i], torch.zeros_like(prob[i])), True)):
                # everything before node i is accepted in a chain and rejected beside siblings
                u = torch.full((n,), 0.9999999 if kind.startswith("siblings") else 0.0, dtype=F64)
                u[i] = u_i
                if kind == "block":
                    u[i + 1:] = 0.9999999
                v = verify_with(u)
                before = prob[:i]
                if kind.startswith("siblings") and bool((before > 0.9999999).any()):
                    continue
                if kind in ("chain",) and not bool((before > 0).all()):
                    continue
                if kind == "block" and bool((v.acceptance_prob[i + 1:] > 0.9999999).any()):
                    continue
                assert torch.equal(v.acceptance_prob.double()[i], prob[i])
                assert bool(v.accepted[i]) == passes
                tried += 1
    assert tried > 40
