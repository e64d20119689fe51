"""How many tokens to draft next. State belongs to one run; with the same seed and costs the same lengths come out."""
from __future__ import annotations

import itertools
from typing import Any

from core.errors import UserError

LONGEST = 10        # what `auto` considers
PRIOR = 0.6         # acceptance expected before anything was seen
PRIOR_WEIGHT = 2.0  # ... worth this many rounds
FADE = 0.9          # older rounds count less: text changes


class Constant:
    def __init__(self, k: int) -> None:
        self.k = k

    def next(self) -> int:
        return self.k

    def observe(self, drafted: int, accepted: int) -> None:
        pass


class Heuristic(Constant):
    """transformers' rule: two more after a fully accepted draft, else one less."""

    def observe(self, drafted: int, accepted: int) -> None:
        if drafted:
            self.k = min(20, self.k + 2) if accepted == drafted else max(1, self.k - 1)


class Auto:
    """The length with the most expected tokens per second, from acceptance by position so far and costs fixed at load.

    Expected tokens of length k: 1 + sum_i prod_{j<=i} a_j (Leviathan et al. 2023 with a separate a for each position); its cost:
    k draft steps and one pass over k + 1 tokens.
    """

    def __init__(self, costs: dict[str, Any]) -> None:
        self.costs = costs
        self.accepted_by_position = [PRIOR * PRIOR_WEIGHT] * LONGEST
        self.tested_by_position = [PRIOR_WEIGHT] * LONGEST

    def next(self) -> int:
        step = self.costs.get("draft_step_s") or 0.0
        tokens, alive, best, best_rate = 1.0, 1.0, 1, 0.0
        for k in range(1, LONGEST + 1):
            alive *= self.accepted_by_position[k - 1] / self.tested_by_position[k - 1]
            tokens += alive
            rate = tokens / (k * step + pass_seconds(self.costs["verify_s"], k + 1))
            if rate > best_rate:
                best, best_rate = k, rate
        return best

    def observe(self, drafted: int, accepted: int) -> None:
        for i in range(min(drafted, accepted + 1, LONGEST)):        # positions behind the first rejection tell nothing
            self.accepted_by_position[i] = FADE * self.accepted_by_position[i] + (i < accepted)
            self.tested_by_position[i] = FADE * self.tested_by_position[i] + 1


def pass_seconds(passes: dict[str, float], k: int) -> float:
    """Seconds of a target pass over k tokens: linear between the measured lengths, on as between the last two behind them."""
    points = sorted((int(n), s) for n, s in passes.items())
    for (a, low), (b, high) in itertools.pairwise(points):
        if a <= k <= b:
            return low + (high - low) * (k - a) / (b - a)
    (a, low), (b, high) = points[-2:]
    return max(high, high + (high - low) * (k - b) / (b - a))


def make(draft_len: int | str, costs: dict[str, Any]) -> Constant | Auto:
    """draft_len: a number, `constant` (4), `auto` or `heuristic` (starting at 5, as transformers does). Raises UserError."""
    if draft_len == "auto":
        return Auto(costs)
    if draft_len == "heuristic":
        return Heuristic(5)
    if draft_len == "constant":
        return Constant(4)
    if isinstance(draft_len, int) and draft_len >= 0:
        return Constant(draft_len)
    raise UserError(f"--draft-len must be a whole number from 0 up, constant, auto or heuristic, not {draft_len!r}.")
