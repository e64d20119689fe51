"""Sampling options equal transformers' processors; the penalty's prefixes; NaN and extreme logits; the inverse-CDF draw at its edges."""
from __future__ import annotations

import math

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from core.errors import UserError
from core.sampling import probs
from core.sampling.probs import Sampling

F64 = torch.float64
OPTIONS = {
    "temperature": Sampling(0.7), "hot": Sampling(3.0), "top-k": Sampling(1.0, top_k=3), "top-k 1": Sampling(1.0, top_k=1),
    "top-k beyond": Sampling(1.0, top_k=99), "top-p": Sampling(1.0, top_p=0.6), "tiny top-p": Sampling(1.0, top_p=1e-6),
    "min-p": Sampling(1.0, min_p=0.2), "min-p 1": Sampling(1.0, min_p=1.0), "penalty": Sampling(1.0, repetition_penalty=1.8),
    "reward": Sampling(1.0, repetition_penalty=0.6), "k then p": Sampling(1.3, top_k=6, top_p=0.8),
    "p then min": Sampling(0.9, top_p=0.9, min_p=0.15),
    "all": Sampling(1.7, 8, 0.85, 0.1, 1.3)}


def logits(rows: int = 40, size: int = 17, seed: int = 0) -> torch.Tensor:
    return 2 * torch.randn(rows, size, generator=torch.Generator().manual_seed(seed), dtype=F64)


def ours(row: torch.Tensor, sampling: Sampling, prefix: list[int] = ()) -> torch.Tensor:
    seen = torch.zeros(row.shape[-1], dtype=torch.bool)
    seen[list(prefix)] = True
    return probs.probabilities(probs.scores(row, sampling, seen), sampling)


def theirs(row: torch.Tensor, s: Sampling, prefix: list[int]) -> torch.Tensor:
    chain = LogitsProcessorList()
    if s.repetition_penalty != 1:
        chain.append(RepetitionPenaltyLogitsProcessor(s.repetition_penalty))
    chain.append(TemperatureLogitsWarper(s.temperature))
    if s.top_k:
        chain.append(TopKLogitsWarper(s.top_k))
    if s.top_p < 1:
        chain.append(TopPLogitsWarper(s.top_p))
    if s.min_p:
        chain.append(MinPLogitsWarper(s.min_p))
    return chain(torch.tensor([prefix]), row[None].clone())[0].softmax(-1)


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
def test_distributions_equal_those_of_transformers(sampling):
    for i, row in enumerate(logits()):
        prefix = [i % 17, 3, 3, (5 * i) % 17]
        torch.testing.assert_close(ours(row, sampling, prefix), theirs(row, sampling, prefix), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
def test_rows_of_a_batch_are_independent(sampling):
    rows = logits(6)
    seen = torch.rand(6, 17, generator=torch.Generator().manual_seed(1)) < 0.3
    together = probs.probabilities(probs.scores(rows, sampling, seen), sampling)
    alone = torch.stack([probs.probabilities(probs.scores(r, sampling, s), sampling) for r, s in zip(rows, seen)])
    torch.testing.assert_close(together, alone, rtol=1e-13, atol=0)


def test_greedy_is_one_hot_at_the_first_of_the_likeliest():
    dist = ours(torch.tensor([1.0, 4.0, 4.0, -2.0]), Sampling())
    assert dist.tolist() == [0, 1, 0, 0]


def test_greedy_obeys_the_penalty():
    assert ours(torch.tensor([3.0, 4.0]), Sampling(repetition_penalty=2.0), [1]).tolist() == [1, 0]
    assert ours(torch.tensor([-3.0, -2.0]), Sampling(repetition_penalty=2.0), [1]).tolist() == [1, 0]


def test_top_k_keeps_exactly_k_of_equals():
    dist = ours(torch.zeros(8), Sampling(1.0, top_k=3))
    assert (dist > 0).sum() == 3 and float(dist.sum()) == pytest.approx(1)


def test_nucleus_of_equals_reaches_the_mass():
    dist = ours(torch.zeros(8, dtype=F64), Sampling(1.0, top_p=0.5))
    assert (dist > 0).sum() == 4


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), Sampling(0.7, 3, 0.9, 0.1, 1.2)], ids=["greedy", "T=1", "all"])
def test_nan_counts_as_impossible(sampling):
    row = torch.tensor([1.0, math.nan, 2.0, -math.inf, 0.5])
    clean = torch.tensor([1.0, -math.inf, 2.0, -math.inf, 0.5])
    dist = ours(row, sampling, [0])
    assert torch.equal(dist, ours(clean, sampling, [0]))
    assert dist[1] == 0 and float(dist.sum()) == pytest.approx(1)


@pytest.mark.parametrize("row", [[200.0, -300.0, 199.0], [-1e4, -1e4 - 1, -2e4], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("change", [{"temperature": 1e-3}, {"temperature": 100.0}, {"repetition_penalty": 1e9}, {"repetition_penalty": 1e-3}])
def test_extreme_options_still_give_a_distribution(row, change):
    dist = ours(torch.tensor(row), Sampling(**{"temperature": 1.0} | change), [0])
    assert bool(torch.isfinite(dist).all()) and float(dist.sum()) == pytest.approx(1)


@pytest.mark.parametrize("bad", [
    {"temperature": -0.1}, {"temperature": math.nan}, {"temperature": math.inf}, {"temperature": 1e-40}, {"temperature": 101},
    {"top_k": -1}, {"top_k": 1.5}, {"top_k": math.inf}, {"top_k": math.nan}, {"top_p": 0.0}, {"top_p": 1.01}, {"top_p": math.nan},
    {"min_p": -0.1}, {"min_p": 1.1}, {"min_p": math.nan}, {"repetition_penalty": 0}, {"repetition_penalty": -1},
    {"repetition_penalty": math.inf}, {"repetition_penalty": math.nan}, {"repetition_penalty": 1e300}, {"repetition_penalty": 1e-300}], ids=str)
def test_options_out_of_range_are_named(bad):
    with pytest.raises(UserError, match="--" + next(iter(bad)).replace("_", "-")):
        Sampling(**bad)


def sorted_nucleus(row: torch.Tensor, top_p: float) -> torch.Tensor:
    p, order = row.softmax(-1).sort(descending=True, stable=True)
    n = int(((p.cumsum(-1) - p) < top_p).sum())
    return torch.zeros_like(row).index_copy(0, order[:n], p[:n] / p[:n].sum())


@pytest.mark.parametrize("flat", [False, True], ids=["peaked", "nucleus larger than the guess"])
@pytest.mark.parametrize("size", [2 * probs.NUCLEUS_GUESSES[0], 2 * probs.NUCLEUS_GUESSES[0] + 1, 5000])
def test_nucleus_of_a_large_vocabulary(flat, size):
    rows = logits(3, size) * (0.1 if flat else 3.0)
    rows[0] = logits(1, size, seed=5)[0] * 3                # rows of different kinds in one batch
    dist = probs.probabilities(rows, Sampling(1.0, top_p=0.9))
    for row, mine in zip(rows, dist):
        torch.testing.assert_close(mine, sorted_nucleus(row, 0.9), rtol=1e-12, atol=1e-15)


def test_seen_grows_along_the_draft():
    seen = torch.zeros(6, dtype=torch.bool)
    seen[0] = True
    before = probs.seen_before(seen, torch.tensor([2, 2, 5]))
    assert [r.nonzero()[:, 0].tolist() for r in before] == [[0], [0, 2], [0, 2], [0, 2, 5]]
    assert seen.sum() == 1


def test_second_of_two_equal_drafts_is_penalised():
    """The penalty counts drafted tokens as part of the prefix: with draft [5, 5] and penalty 1e9, the second 5 is impossible."""
    row = torch.zeros(4, 6) + torch.tensor([0.5, 0, 0, 0, 0, 9.0])
    sampling = Sampling(repetition_penalty=1e9)
    p = probs.probabilities(probs.scores(row[:3], sampling, probs.seen_before(torch.zeros(6, dtype=torch.bool), torch.tensor([5, 5]))), sampling)
    assert p[0, 5] == 1 and p[1, 5] == 0 and p[2, 5] == 0


DIST = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=F64)


@pytest.mark.parametrize(("u", "token"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1 - 2 ** -53, 4)])
def test_draw_is_the_inverse_of_the_distribution(u, token):
    assert int(probs.draw(DIST, torch.tensor(u, dtype=F64))) == token


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_draw_never_returns_a_token_of_probability_0(dtype):
    rng = torch.Generator().manual_seed(0)
    dists = torch.rand(500, 300, generator=rng, dtype=dtype) * (torch.rand(500, 300, generator=rng) < 0.05)
    dists[dists.sum(-1) == 0, 7] = 1
    dists = dists / dists.sum(-1, keepdim=True)
    for u in (0.0, 5e-324, 0.5, 1 - 2 ** -24, 1 - 2 ** -53):
        ids = probs.draw(dists, torch.full((500,), u, dtype=F64))
        assert bool((dists.gather(1, ids[:, None]) > 0).all())


def test_draw_follows_the_distribution_in_any_batch_shape():
    n = 4096
    u = (torch.arange(n, dtype=F64) + 0.5) / n
    ids = probs.draw(DIST.expand(2, n, 6), u.expand(2, n))
    counts = torch.stack([torch.bincount(row, minlength=6) for row in ids])
    assert torch.equal(counts, (DIST * n).long().expand(2, 6))


# -- a row's distribution is a function of that row alone ---------------------------------------------------------------------------

ALONE = {"T": Sampling(0.7), "top-k": Sampling(1.0, top_k=50), "top-p": Sampling(1.0, top_p=0.9), "wide top-p": Sampling(1.5, top_p=0.999),
         "min-p": Sampling(1.0, min_p=0.05), "penalty": Sampling(1.0, repetition_penalty=1.3), "all": Sampling(1.2, 900, 0.95, 0.001, 1.3)}


def coarse(rows: int, seed: int, size: int = 49_152) -> torch.Tensor:
    """Logits in bfloat16, so that most tokens share their value with others; from flat rows to peaked ones."""
    rng = torch.Generator().manual_seed(seed)
    return (torch.randn(rows, size, generator=rng) * torch.logspace(-1, 0.8, rows)[:, None]).bfloat16().float()


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request):
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(1)


@pytest.mark.parametrize("sampling", ALONE.values(), ids=ALONE)
def test_a_rows_distribution_does_not_depend_on_other_rows(threads, sampling, monkeypatch):
    rows = coarse(5, 3)
    seen = torch.rand(rows.shape, generator=torch.Generator().manual_seed(1)) < 0.01
    together = probs.probabilities(probs.scores(rows, sampling, seen), sampling)
    for guesses in ((512, 8192), (), (64,)):            # whichever sizes are tried before a full sort
        monkeypatch.setattr(probs, "NUCLEUS_GUESSES", guesses)
        for i in (0, 2, 4):
            alone = probs.probabilities(probs.scores(rows[i:i + 1], sampling, seen[i:i + 1]), sampling)[0]
            assert torch.equal(alone, together[i])
            flat = probs.probabilities(probs.scores(rows[i], sampling, seen[i]), sampling)
            assert torch.equal(flat, together[i])
    turned = probs.probabilities(probs.scores(rows.flip(0), sampling, seen.flip(0)), sampling)
    assert torch.equal(turned.flip(0), together)
    torch.testing.assert_close(together.sum(-1), torch.ones(5), rtol=0, atol=1e-4)


@pytest.mark.parametrize("sampling", [Sampling(1.0, top_k=2), Sampling(1.0, top_p=0.5)], ids=["top-k", "top-p"])
@pytest.mark.parametrize("size", [6, 40_000])
def test_of_equals_the_lower_ids_stay(sampling, size):
    row = torch.full((1, size), -torch.inf)
    row[0, [size - 1, size - 2, 2, 1]] = 0.0
    for rows in (row, torch.cat([row, torch.zeros_like(row)])):
        assert probs.probabilities(rows, sampling)[0].nonzero()[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize("top_p", [5e-324, 1e-46, 1e-30])
def test_a_top_p_that_the_dtype_rounds_to_0_keeps_one_token(top_p):
    row = torch.tensor([0.1, 2.0, 1.0])
    assert probs.probabilities(row, Sampling(1.0, top_p=top_p)).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("min_p", [5e-324, 1e-46])
def test_a_min_p_that_the_dtype_rounds_to_0_drops_nothing(min_p):
    row = torch.tensor([0.1, 2.0, 1.0])
    torch.testing.assert_close(probs.probabilities(row, Sampling(1.0, min_p=min_p)), row.softmax(-1))
