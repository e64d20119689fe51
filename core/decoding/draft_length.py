"""How much to draft in the next round: how many levels, and in a tree how many nodes. State belongs to one run; the same seed and costs
give the same shapes."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from core.methods.static_tree import StaticTree

LONGEST = 10        # the longest chain that `auto` considers
TREES = ((2, 3), (2, 4), (3, 4), (3, 5), (3, 6), (3, 8), (4, 8))      # (levels, nodes) of the trees that it considers
PRIOR = 0.6         # acceptance rate assumed where none was measured
PRIOR_WEIGHT = 2.0  # rounds that this assumption counts for, and ...
MEASURED_WEIGHT = 6.0       # ... an acceptance that was measured before
FADE = 0.9          # each round multiplies the weight of all earlier ones by this, since the text changes
ALMOST_ONE = 0.98   # no acceptance probability is taken for higher
GAIN = 1.05         # a draft must be expected to gain so much over none, so that noise in the costs decides nothing
STAY = 1.02         # and another shape so much over the one in use
PROBE = 8           # rounds without a draft before one token is drafted to see whether the text has changed; doubles up to ...
MOST_PATIENT = 64


@dataclass(frozen=True)
class Shape:
    """levels: depth of the draft; nodes: as many in a chain, more in a tree. (0, 0): no draft."""
    levels: int
    nodes: int


@dataclass(frozen=True)
class Expected:
    """What a round of this shape is expected to give: tokens emitted, seconds taken."""
    shape: Shape
    tokens: float
    seconds: float

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds


class Constant:
    """Always k. next() is the shape of the next draft; observe() takes a round's drafted and accepted levels."""

    def __init__(self, k: int) -> None:
        self.k = k

    def next(self) -> Shape:
        return Shape(self.k, self.k)

    def observe(self, drafted: int, accepted: int) -> None:
        pass


class Heuristic(Constant):
    """The rule of transformers' assisted generation: two more after a fully accepted draft, else one less; from 1 to 20."""

    def observe(self, drafted: int, accepted: int) -> None:
        if drafted:
            self.k = min(20, self.k + 2) if accepted == drafted else max(1, self.k - 1)


class Auto:
    """The shape with the most expected tokens per second, or no draft where none gains.

    A round of N nodes gives 1 + sum over nodes of the product of the acceptances along their path (Leviathan et al. 2023; for trees
    Medusa, Cai et al. 2024) and costs its levels' draft steps, one target pass over N + 1 tokens, and the round's fixed part. Acceptance
    by level and rank starts from what was measured with the draft, and the run's own rounds scale it level by level.
    """

    def __init__(self, costs: dict[str, Any], trees: bool = False) -> None:
        """costs: of core.measuring.costs, with `acceptance` [level][rank] where it is known. trees: whether the proposer can draft trees."""
        self.costs = costs | {"verify_s": rising(costs["verify_s"])}
        self.prior = [[float(share) for share in ranks] for ranks in costs.get("acceptance") or [[PRIOR]]]
        while len(self.prior) < LONGEST:                        # deeper levels were not measured: as the last one
            self.prior.append(self.prior[-1])
        self.weight = MEASURED_WEIGHT if costs.get("acceptance") else PRIOR_WEIGHT
        self.tested, self.accepted, self.foreseen = ([0.0] * LONGEST for _ in range(3))      # by level: rounds that reached it; of these
        #                                                                                      accepted there, and expected to be
        self.shapes = [Shape(k, k) for k in range(LONGEST + 1)]
        self.paths = {s: [[0] * level for level in range(1, s.levels + 1)] for s in self.shapes}      # ranks along each node's path
        if trees and len(self.prior[0]) > 1:
            for levels, nodes in TREES:
                tree = StaticTree.best(self.prior[:levels], nodes)
                if tree.levels > 1 and max(tree.ranks) > 0:
                    shape = Shape(tree.levels, nodes)
                    self.paths.setdefault(shape, _paths(tree))
        self.shapes = list(self.paths)
        self.now, self.idle, self.patience = Shape(0, 0), 0, PROBE
        self.at_start = self.table = self.expected()
        self.now = self._best()

    def expected(self) -> list[Expected]:
        """Of each shape that is considered, no draft first."""
        scaled, by = [], 1.0
        for ranks, tested, accepted, foreseen in zip(self.prior, self.tested, self.accepted, self.foreseen):
            if tested:              # where few rounds have been lately, a level follows the one above it
                prior = max(foreseen / tested, 1e-6)
                by = (self.weight * min(ALMOST_ONE, prior * by) + accepted) / (self.weight + tested) / prior
            scaled.append([min(ALMOST_ONE, share * by) for share in ranks] if by != 1 else ranks)
        step, passes, other = self.costs.get("draft_step_s") or 0.0, self.costs["verify_s"], self.costs.get("other_s") or {}
        out = []
        for shape in self.shapes:
            tokens = 1.0
            for path in self.paths[shape]:
                share = 1.0
                for i, rank in enumerate(path):
                    share *= scaled[i][rank]
                tokens += share
            fixed = pass_seconds(other, shape.nodes + 1) if len(other) > 1 else 0.0
            out.append(Expected(shape, tokens, shape.levels * step + pass_seconds(passes, shape.nodes + 1) + fixed))
        return out

    def next(self) -> Shape:
        if self.now.levels:
            return self.now
        self.idle += 1
        if self.idle < self.patience:
            return self.now
        self.idle, self.patience = 0, min(MOST_PATIENT, 2 * self.patience)
        return Shape(1, 1)

    def observe(self, drafted: int, accepted: int) -> None:
        if not drafted:
            return
        for counts in (self.tested, self.accepted, self.foreseen):
            counts[:] = [FADE * n for n in counts]
        for i in range(min(drafted, accepted + 1, LONGEST)):        # levels after the first rejection were not tested
            self.tested[i] += 1
            self.accepted[i] += i < accepted
            self.foreseen[i] += min(1.0, sum(self.prior[i][:self._width(i)]))
        self.table = self.expected()
        was, self.now = self.now, self._best()
        if self.now.levels and not was.levels:
            self.patience = PROBE

    def _width(self, level: int) -> int:
        """Ranks that the shape in use drafts at this level, below its likeliest node."""
        return max(1, 1 + max((p[level] for p in self.paths[self.now] if len(p) == level + 1 and not any(p[:level])), default=0))

    def _best(self) -> Shape:
        rates = {e.shape: e.rate for e in self.table}
        best = max(rates, key=rates.get)
        if rates[best] < GAIN * rates[Shape(0, 0)]:
            return Shape(0, 0)
        return self.now if self.now.levels and rates[best] < STAY * rates[self.now] and rates[self.now] >= GAIN * rates[Shape(0, 0)] else best


def _paths(tree: StaticTree) -> list[list[int]]:
    paths: list[list[int]] = []
    for parent, rank in zip(tree.parents, tree.ranks):
        paths.append([*(paths[parent] if parent >= 0 else []), rank])
    return paths


def rising(passes: dict[str, float]) -> dict[str, float]:
    """The measured seconds without what must be noise: a pass that took longer than one over more tokens."""
    out, least = {}, float("inf")
    for k in sorted(passes, key=int, reverse=True):
        least = out[k] = min(least, passes[k])
    return out


def pass_seconds(passes: dict[str, float], k: int) -> float:
    """Seconds of a pass over k tokens: interpolated between the measured lengths (passes: k -> seconds), extrapolated from the last two."""
    points = sorted((int(n), s) for n, s in passes.items())
    for (a, low), (b, high) in itertools.pairwise(points):
        if a <= k <= b:
            return low + (high - low) * (k - a) / (b - a)
    (a, low), (b, high) = points[-2:]
    return max(high, high + (high - low) * (k - b) / (b - a))


def make(draft_len: int | str, costs: dict[str, Any], trees: bool = False) -> Constant | Auto:
    """draft_len: a number, `constant` (4), `auto` or `heuristic` (starting at 5, as transformers does). Raises UserError."""
    if draft_len == "auto":
        return Auto(costs, trees)
    if draft_len == "heuristic":
        return Heuristic(5)
    if draft_len == "constant":
        return Constant(4)
    if isinstance(draft_len, int) and draft_len >= 0:
        return Constant(draft_len)
    raise UserError(f"--draft-len must be a whole number from 0 up, constant, auto or heuristic, not {draft_len!r}.")


def as_record(table: Sequence[Expected]) -> list[dict[str, Any]]:
    """For the trace: what each shape was expected to give before the run."""
    return [{"levels": e.shape.levels, "nodes": e.shape.nodes, "tokens": round(e.tokens, 4), "seconds": round(e.seconds, 6)} for e in table]
