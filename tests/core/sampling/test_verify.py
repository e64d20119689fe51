"""Chain verification has exactly the target's distribution: every outcome is enumerated, the uniforms are integrated out."""
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


def n_accepted(v) -> int:
    return int(v.accepted.sum())


class Prefixes:
    """A language model as a table: a random distribution for every prefix. zeros: share of impossible tokens; hot: one-hot everywhere."""

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


def output_distribution(p, q, size: int, k: int) -> dict[tuple[int, ...], float]:
    """Probability of every sequence of k + 1 tokens: those of one round and, after a rejection, the rest drawn from p token by token.

    A token is accepted with min(1, acceptance_prob), as `chain` itself reports it; u is set just below and at it to check that.
    """
    out: dict[tuple[int, ...], float] = {}
    for drafted in itertools.product(range(size), repeat=k):
        ps = torch.stack([p(drafted[:i]) for i in range(k + 1)])
        qs = torch.stack([q(drafted[:i]) for i in range(k)])
        drawn = math.prod(float(qs[i, x]) for i, x in enumerate(drafted))
        if not drawn:
            continue
        probs = chain(ps, qs, drafted, [0.0] * k).acceptance_prob.tolist()
        for n in range(k + 1):
            chance = drawn * math.prod(min(1.0, x) for x in probs[:n]) * ((1 - min(1.0, probs[n])) if n < k else 1.0)
            if chance <= 0:
                continue
            u = [x * (1 - 1e-9) if x <= 1 else BELOW_ONE for x in probs[:n]] + ([probs[n]] if n < k else []) + [0.0] * (k - n - 1)
            v = chain(ps, qs, drafted, u)
            assert n_accepted(v) == n, (drafted, u)
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
def test_the_joint_distribution_of_the_output_is_the_targets(name, k):
    p, q = MODELS[name]
    size = len(p(()))
    if size == 5 and k == 3:
        k = 2
    got = output_distribution(p, q, size, k)
    for tokens in itertools.product(range(size), repeat=k + 1):
        want = math.prod(float(p(tokens[:i])[x]) for i, x in enumerate(tokens))
        assert got.get(tokens, 0.0) == pytest.approx(want, abs=1e-12)


def test_this_proof_finds_a_wrong_residual(monkeypatch):
    """The negative control: resampling from p instead of the residual makes the same enumeration fail."""
    monkeypatch.setattr(verify, "residual_distribution", lambda p, q: p / p.sum(-1, keepdim=True))
    p, q = MODELS["random"]
    got = output_distribution(p, q, 4, 1)
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
    """The residual has no mass, or only rounding error; what comes out must be a distribution all the same."""
    p = torch.softmax(torch.randn(50, generator=torch.Generator().manual_seed(0)), -1).to(dtype)
    for q in (p.clone(), p.float().to(dtype), (p * (1 + 1e-7))):
        rest = verify.residual_distribution(p, q)
        assert bool(torch.isfinite(rest).all()) and float(rest.sum()) == pytest.approx(1, abs=1e-5)


def test_u_zero_accepts_nothing_impossible():
    """u = 0 would pass a comparison with <=."""
    v = chain([[0, .4, .6], [1, 0, 0]], [[.5, .5, 0]], [0], [0.0], 0.0)
    assert n_accepted(v) == 0 and int(v.next_id) == 2


def test_u_just_below_one_accepts_the_certain():
    v = chain([[.2, .8], [.5, .5]], [[.2, .8]], [1], [BELOW_ONE])
    assert n_accepted(v) == 1


@pytest.mark.parametrize("u_next", [0.0, BELOW_ONE])
def test_the_next_token_is_always_possible(u_next):
    v = chain([[0, .5, 0, .5, 0]] * 2, [[.5, .25, 0, 0, .25]], [0], [0.5], u_next)
    assert int(v.next_id) in (1, 3)


def test_nan_in_q_is_a_rejection_and_gives_no_nan():
    v = chain([[.3, .3, .4], [1, 0, 0]], [[math.nan, .5, .5]], [0], [0.0])
    assert n_accepted(v) == 0 and bool(torch.isfinite(v.residual).all()) and float(v.residual.sum()) == pytest.approx(1)


def test_q_zero_at_the_drafted_token_accepts_only_what_the_target_can_emit():
    assert n_accepted(chain([[.3, .7], [1, 0]], [[0, 1.0]], [0], [0.5])) == 1
    assert n_accepted(chain([[0, 1.0], [1, 0]], [[0, 1.0]], [0], [0.0])) == 0


def test_padding_ids_are_refused():
    """An id of -1 must not silently read the last column."""
    with pytest.raises((RuntimeError, IndexError)):
        chain([[.5, .5]] * 3, [[.5, .5]] * 2, [0, -1], [0.0, 0.0])


def test_nothing_after_a_rejection_is_accepted():
    """Not even a later token whose own u is below its acceptance probability."""
    v = chain([[0, 1.0], [.5, .5], [.5, .5]], [[1.0, 0], [.5, .5]], [0, 1], [0.1, 0.0])
    assert n_accepted(v) == 0 and int(v.next_id) == 1


def test_an_empty_draft_draws_from_p():
    v = chain([[.1, .2, .7]], torch.zeros(0, 3), [], [], 0.25)
    assert n_accepted(v) == 0 and int(v.next_id) == 1
    torch.testing.assert_close(v.residual, dist(.1, .2, .7))


def test_the_acceptance_probability_is_the_ratio_and_decides():
    p = torch.stack([Prefixes(6, 1)((i,)) for i in range(4)])
    q = torch.stack([Prefixes(6, 2)((i,)) for i in range(3)])
    for drafted in itertools.product(range(6), repeat=3):
        u = torch.rand(3, generator=torch.Generator().manual_seed(sum(drafted)), dtype=F64)
        v = verify.chain(p, q, torch.tensor(drafted), u, torch.tensor(0.5, dtype=F64))
        ratio = torch.tensor([p[i, x] / q[i, x] for i, x in enumerate(drafted)], dtype=F64)
        assert torch.equal(v.acceptance_prob, ratio)
        assert n_accepted(v) == int((u < ratio).long().cumprod(0).sum())


def test_batch_rows_are_independent():
    rng = torch.Generator().manual_seed(0)
    p, q = (torch.rand(50, n, 5, generator=rng, dtype=F64).softmax(-1) for n in (4, 3))
    drafted, u, last = torch.randint(5, (50, 3), generator=rng), torch.rand(50, 3, generator=rng, dtype=F64), torch.rand(50, generator=rng, dtype=F64)
    together = verify.chain(p, q, drafted, u, last)
    for i in range(50):
        alone = verify.chain(p[i], q[i], drafted[i], u[i], last[i])
        for name in ("accepted", "acceptance_prob", "residual", "next_id"):
            torch.testing.assert_close(getattr(together, name)[i], getattr(alone, name))
    assert {int(n) for n in together.accepted.sum(-1)} == {0, 1, 2, 3}


# -- the recorded acceptance probability decides as the verifier did -----------------------------------------------------------------------------


def drawn(seed: int, n: int, size: int = 50) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """float32 p [n+1, V], q [n, V] and n drafted ids, whose ratios p/q a comparison of rounded products u * q < p would decide otherwise."""
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
            for u_i, accepted in ((prob[i], False), (torch.nextafter(prob[i], torch.zeros_like(prob[i])), True)):
                # the tokens before i are accepted in a chain; as siblings of i they are rejected
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
                assert bool(v.accepted[i]) == accepted
                tried += 1
    assert tried > 40
