"""How many tokens to draft in the next round. State belongs to one run; the same seed and costs give the same lengths."""
from __future__ import annotations

import itertools
from typing import Any

from core.errors import UserError

LONGEST = 10        # the longest draft that `auto` considers
PRIOR = 0.6         # acceptance rate assumed before any round
PRIOR_WEIGHT = 2.0  # rounds that this assumption counts for
FADE = 0.9          # each round multiplies the weight of all earlier ones by this, since the text changes


class Constant:
    """Always k. next() is the length of the next draft; observe() takes a round's numbers of drafted and accepted tokens."""

    def __init__(self, k: int) -> None:
        self.k = k

    def next(self) -> int:
        return self.k

    def observe(self, drafted: int, accepted: int) -> None:
        pass


class Heuristic(Constant):
    """The rule of transformers' assisted generation: two more after a fully accepted draft, else one less; from 1 to 20."""

    def observe(self, drafted: int, accepted: int) -> None:
        if drafted:
            self.k = min(20, self.k + 2) if accepted == drafted else max(1, self.k - 1)


class Auto:
    """The length with the most expected tokens per second, given the acceptance by position so far and costs measured at load.

    A draft of k tokens gives 1 + sum_i prod_{j<=i} a_j expected tokens (Leviathan et al. 2023, with an a_j for each position) and costs k
    draft steps and one target pass over k + 1 tokens.
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
        for i in range(min(drafted, accepted + 1, LONGEST)):        # positions after the first rejection were not tested
            self.accepted_by_position[i] = FADE * self.accepted_by_position[i] + (i < accepted)
            self.tested_by_position[i] = FADE * self.tested_by_position[i] + 1


def pass_seconds(passes: dict[str, float], k: int) -> float:
    """Seconds of a pass over k tokens: interpolated between the measured lengths (passes: k -> seconds), extrapolated from the last two."""
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
