"""Closed forms agree with simulation, with the paper's formula and with each other."""
import random

import pytest

from core.measuring import theory


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("k", [0, 1, 4, 7])
def test_expected_tokens_is_what_rounds_emit(alpha, k):
    dice = random.Random(1)

    def emitted():
        accepted = 0
        while accepted < k and dice.random() < alpha:
            accepted += 1
        return accepted + 1

    assert theory.expected_tokens(alpha, k) == pytest.approx(sum(emitted() for _ in range(40_000)) / 40_000, abs=0.05)


def test_matches_the_published_form():
    alpha, k = 0.8, 5
    assert theory.expected_tokens(alpha, k) == pytest.approx((1 - alpha ** (k + 1)) / (1 - alpha))
    assert theory.expected_tokens(1.0, k) == k + 1


def test_a_free_draft_and_a_flat_pass_give_the_tokens_themselves():
    assert theory.speedup(0.7, 4, 0.0) == pytest.approx(theory.expected_tokens(0.7, 4))


def test_best_length_is_the_best_of_all():
    v = [1.0, 1.0, 1.05, 1.1, 1.2, 1.6, 2.0]
    _, best = theory.best_length(0.6, 0.1, v)
    assert best == max(theory.speedup(0.6, i, 0.1, v[i]) for i in range(len(v)))
    assert theory.best_length(0.05, 0.5, v) == (0, 1.0)


def test_break_even_is_where_the_speed_up_is_one():
    alpha = theory.break_even(4, 0.1, 1.2)
    assert theory.speedup(alpha, 4, 0.1, 1.2) == pytest.approx(1.0)
    assert theory.break_even(1, 2.0, 1.5) is None
