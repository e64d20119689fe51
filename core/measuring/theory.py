"""Closed forms of speculative decoding with a chain of k drafted tokens, each kept with the same chance alpha (Leviathan et al. 2023)."""
from __future__ import annotations

from collections.abc import Sequence


def expected_tokens(alpha: float, k: int) -> float:
    """Tokens a round emits on average: 1 + alpha + ... + alpha^k (theorem 3.8's numerator; the 1 is the target's own token)."""
    return sum(alpha ** i for i in range(k + 1))


def expected_tokens_by_position(acceptance: Sequence[float]) -> float:
    """The same from measured rates: kept[i] = rounds that accepted position i / rounds that drafted it (so already a running product)."""
    return 1 + sum(acceptance)


def speedup(alpha: float, k: int, c: float, v: float = 1.0) -> float:
    """Plain time / speculative time for the same tokens. c = draft step / target step, v = pass over k + 1 tokens / pass over 1.

    The paper takes v = 1; on a real machine it is measured.
    """
    return expected_tokens(alpha, k) / (k * c + v)


def best_length(alpha: float, c: float, v: Sequence[float]) -> tuple[int, float]:
    """(k, speed-up) with the largest speed-up; v[k] for k = 0, 1, ... up to the longest draft considered. k = 0 means: do not speculate."""
    return max(((k, speedup(alpha, k, c, v[k])) for k in range(len(v))), key=lambda pair: pair[1])


def break_even(k: int, c: float, v: float = 1.0) -> float | None:
    """The smallest alpha with a speed-up of 1, or None where even alpha = 1 does not pay."""
    if speedup(1.0, k, c, v) < 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):                 # speedup grows with alpha
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(middle, k, c, v) >= 1 else (middle, high)
    return high
