"""Closed forms for a chain of k drafted tokens, each accepted with the same probability alpha (Leviathan et al. 2023)."""
from __future__ import annotations

from collections.abc import Sequence


def expected_tokens(alpha: float, k: int) -> float:
    """Mean tokens per round: 1 + alpha + ... + alpha^k (numerator of theorem 3.8; the 1 is the recovered or bonus token)."""
    return sum(alpha ** i for i in range(k + 1))


def speedup(alpha: float, k: int, c: float, v: float = 1.0) -> float:
    """Plain time / speculative time for the same tokens. c = draft step / target step, v = pass over k + 1 tokens / pass over 1.

    The paper assumes v = 1; here it is measured.
    """
    return expected_tokens(alpha, k) / (k * c + v)


def best_length(alpha: float, c: float, v: Sequence[float]) -> tuple[int, float]:
    """(k, speed-up) with the largest speed-up. v[k], as in `speedup`, for k = 0 to the longest draft considered; k = 0: do not speculate."""
    return max(((k, speedup(alpha, k, c, v[k])) for k in range(len(v))), key=lambda pair: pair[1])


def break_even(k: int, c: float, v: float = 1.0) -> float | None:
    """The smallest alpha with a speed-up of 1; None if even alpha = 1 gives less."""
    if speedup(1.0, k, c, v) < 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):                 # speedup grows with alpha
        middle = (low + high) / 2
        low, high = (low, middle) if speedup(middle, k, c, v) >= 1 else (middle, high)
    return high
