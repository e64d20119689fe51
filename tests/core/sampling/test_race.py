"""The noise of coupled runs: Exp(1), the same bits whatever is asked for, independent across positions, tokens and seeds; and the race over it."""
from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import chisquare, kstest

from core.sampling import probs, race
from core.sampling.probs import Sampling
from core.sampling.race import Noise

F64, CPU = torch.float64, torch.device("cpu")


@pytest.mark.parametrize("size", [1, 7, 49_152, 50_001])
def test_a_row_has_the_same_bits_whatever_else_is_asked_for(size):
    whole = Noise(5, size, CPU).rows(0, 6)
    assert whole.shape == (6, size) and whole.dtype == F64
    for start, n in ((3, 1), (2, 4), (0, 1), (5, 1)):
        assert torch.equal(Noise(5, size, CPU).rows(start, n), whole[start:start + n])
    kept = Noise(5, size, CPU)
    for start, n in ((0, 2), (1, 4), (4, 2), (4, 1), (0, 3)):         # overlaps with what was made before, on either side
        assert torch.equal(kept.rows(start, n), whole[start:start + n])


def test_rows_of_the_last_call_are_not_made_again(monkeypatch):
    noise, made = Noise(5, 9, CPU), []
    real = Noise._made
    monkeypatch.setattr(Noise, "_made", lambda self, positions: made.extend(positions) or real(self, positions))
    for start, n in ((0, 4), (0, 5), (2, 5), (3, 1)):
        noise.rows(start, n)
    assert made == [0, 1, 2, 3, 4, 5, 6]


def test_a_smaller_vocabulary_has_the_same_noise_for_its_tokens():
    assert torch.equal(Noise(1, 30, CPU).rows(2, 2), Noise(1, 300, CPU).rows(2, 2)[:, :30])


def test_known_values():
    """Saved traces and other machines rely on them."""
    x = int.from_bytes(bytes.fromhex("e220a8397b1dcdaf"), "big")         # SplitMix64's first output from state 0
    assert race._mixed(race.STEP) == x
    got = Noise(0, 3, CPU).rows(0, 1)[0].tolist()
    key = race._mixed(race.STEP)
    for token, e in enumerate(got):
        bits = race._mixed(key + race.STEP * token) >> 12
        assert e == pytest.approx(-math.log((bits + 0.5) / 2 ** 52), rel=1e-14)


def test_the_values_are_exponential_to_the_tails():
    e = Noise(11, 49_152, CPU).rows(0, 40).flatten()
    assert kstest(e[:400_000].numpy(), "expon").pvalue > 0.001
    assert bool(torch.isfinite(e).all()) and 0 < float(e.min()) < 1e-5 and 13 < float(e.max()) < 37
    below = [int((e < x).sum()) / len(e) / x for x in (1e-3, 1e-4)]
    assert below == pytest.approx([1, 1], abs=0.25)
    assert len(e.unique()) == len(e)


def test_the_first_noise_of_small_seeds_is_not_extreme():
    """SplitMix64's output function keeps 0: seed, position and token 0 together gave the largest value there is."""
    assert kstest([float(Noise(seed, 1, CPU).rows(0, 1)) for seed in range(200)], "expon").pvalue > 0.001
    assert all(float(Noise(seed, 1, CPU).rows(0, 1)) < 15 for seed in range(200))


@pytest.mark.parametrize("bits", [0, (1 << 64) - 1])
def test_the_extreme_bits_give_neither_zero_nor_infinity(monkeypatch, bits):
    monkeypatch.setattr(race, "SHIFTS", ())         # without mixing, the values are what is put in
    noise = Noise(0, 1, CPU)
    monkeypatch.setattr(race, "to_device", lambda values, device: torch.tensor([race._signed(bits)] * len(values)))
    e = float(noise.rows(0, 1))
    assert e == pytest.approx(53 * math.log(2) if not bits else 2.0 ** -53, rel=1e-12)


def test_positions_tokens_and_seeds_are_independent():
    """Chi-square of pairs of quartiles: of successive positions, neighbouring tokens, successive seeds."""
    quartile = [torch.bucketize(Noise(seed, 500, CPU).rows(0, 200), -torch.log(torch.tensor([.75, .5, .25], dtype=F64))) for seed in (0, 1)]
    a, other = quartile
    for x, y in ((a[:-1], a[1:]), (a[:-7], a[7:]), (a[:, :-1], a[:, 1:]), (a, other)):
        counts = torch.bincount((4 * x + y).flatten(), minlength=16)
        assert chisquare(counts.tolist()).pvalue > 0.001


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(0.7, top_k=3), Sampling(1.5, top_p=0.8)], ids=["T=1", "top-k", "top-p"])
def test_the_winner_is_distributed_as_p(sampling):
    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -3.0], dtype=F64)
    p = probs.probabilities(logits, sampling)
    won = race.winner(p.expand(50_000, 6), Noise(3, 6, CPU).rows(0, 50_000))
    counts = torch.bincount(won, minlength=6)
    assert not counts[p == 0].any()
    assert chisquare(counts[p > 0].tolist(), (p[p > 0] * 50_000).tolist()).pvalue > 0.001


def test_the_winner_does_not_look_at_its_neighbours():
    rng = torch.Generator().manual_seed(0)
    p = torch.softmax(3 * torch.randn(9, 5000, generator=rng), -1)
    noise = Noise(2, 5000, CPU).rows(0, 9)
    assert race.winner(p, noise).tolist() == [int(race.winner(p[i:i + 1], noise[i:i + 1])) for i in range(9)]


def test_ties_go_to_the_lower_id_and_impossible_tokens_never_win():
    noise = torch.ones(4, dtype=F64)
    assert int(race.winner(torch.tensor([0, .5, .5, 0]), noise)) == 1
    noise = torch.tensor([2.0 ** -53, 36, 36, 2.0 ** -53], dtype=F64)
    assert int(race.winner(torch.tensor([0, 1e-38, 0, 0]), noise)) == 1


@pytest.mark.parametrize("sampling", [Sampling(0.9), Sampling(1.0, top_k=2)], ids=["all", "two"])
def test_keys_are_draws_without_replacement_and_then_the_likeliest_others(sampling):
    scored = torch.tensor([[1.0, 0.2, torch.nan, 3.0, 2.0, -torch.inf]])
    p = probs.probabilities(scored, sampling)[0]
    for position in range(30):
        noise = Noise(0, 6, CPU).rows(position, 1)
        got, left = race.keys(scored, sampling, noise)[0].topk(4).indices.tolist(), p.clone()
        for token in got[:int((p > 0).sum())]:
            assert token == int(race.winner(left, noise[0]))
            left[token] = 0
        if sampling.top_k:
            assert got[2:] == [0, 1]


def test_the_noise_of_a_reduced_head():
    noise = Noise(0, 6, CPU).rows(0, 2)
    assert torch.equal(race.of_rows(noise, 4, None), noise[:, :4])
    assert torch.equal(race.of_rows(noise, 2, torch.tensor([5, 1])), noise[:, [5, 1]])
