"""Trees whose shape is fixed before drafting: the node of rank r is its parent's r-th likeliest continuation."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# How often a head's guess of rank 0, 1, ... is right, for heads without measured accuracies: a typical shape.
TYPICAL_ACCURACY = (0.55, 0.14, 0.07, 0.05, 0.03, 0.02, 0.02, 0.01)


@dataclass(frozen=True)
class StaticTree:
    """N nodes, level by level, siblings by rank. parents: index of each node's parent, -1 = root; ranks: 0 = likeliest."""
    parents: tuple[int, ...]
    ranks: tuple[int, ...]

    @classmethod
    def full(cls, shape: Sequence[int]) -> StaticTree:
        """The tree in which every node of depth d (0 = root) has shape[d] children."""
        parents: list[int] = []
        ranks: list[int] = []
        level = [-1]
        for branches in shape:
            start = len(parents)
            parents += [p for p in level for _ in range(branches)]
            ranks += list(range(branches)) * len(level)
            level = list(range(start, len(parents)))
        return cls(tuple(parents), tuple(ranks))

    @classmethod
    def best(cls, accuracy: Sequence[Sequence[float]], nodes: int) -> StaticTree:
        """The tree of `nodes` nodes with the most expected accepted tokens (Medusa, Cai et al. 2024, sec. 2.3.3).

        A node is accepted with the product of the accuracies along its path; the likeliest nodes are taken. accuracy [level][rank] must
        not rise with the rank.
        """
        paths = [((), 1.0)]
        candidates: list[tuple[float, tuple[int, ...]]] = []        # (-probability, path of ranks)
        chosen: list[tuple[int, ...]] = []
        while len(chosen) < nodes:
            path, share = paths[-1]
            if len(path) < len(accuracy):
                candidates += [(-share * a, (*path, r)) for r, a in enumerate(accuracy[len(path)])]
            if not candidates:
                break
            candidates.sort(key=lambda x: (x[0], len(x[1]), x[1]))
            value, best = candidates.pop(0)
            chosen.append(best)
            paths.append((best, -value))
        chosen.sort(key=lambda path: (len(path), path))
        index = {path: i for i, path in enumerate(chosen)} | {(): -1}
        return cls(tuple(index[path[:-1]] for path in chosen), tuple(path[-1] for path in chosen))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node, 1 for the root's children."""
        out: list[int] = []
        for parent in self.parents:
            out.append(1 if parent < 0 else out[parent] + 1)
        return tuple(out)

    @property
    def levels(self) -> int:
        return max(self.depths, default=0)

    def level(self, depth: int) -> list[int]:
        """The nodes of one depth."""
        return [i for i, d in enumerate(self.depths) if d == depth]

    def cut(self, levels: int) -> StaticTree:
        """The tree without the nodes deeper than `levels`."""
        keep = sum(d <= levels for d in self.depths)
        return self if keep == len(self.parents) else StaticTree(self.parents[:keep], self.ranks[:keep])

    @property
    def nodes(self) -> int:
        return len(self.parents)
