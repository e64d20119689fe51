"""The shape of a drafted tree: ancestors, siblings and tree mask, computed on the device from each node's parent. A chain has no siblings."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.errors import UserError
from core.models.decoder import PassShape


@dataclass
class Tree:
    """N drafted nodes below the root (the last emitted token). Parents come before children, siblings in the order in which they are tested."""
    parents: Tensor         # [N] int64, -1 = root
    ancestors: Tensor       # [N, N] bool: the column is the row itself or one of its ancestors
    earlier: Tensor         # [N, N] bool: the column is a sibling tested before the row

    @property
    def depth(self) -> Tensor:
        """[N] int64, 1 for the root's children."""
        return self.ancestors.sum(1)

    @classmethod
    def of(cls, parents: Tensor, levels: int) -> Tree:
        """parents [N]; levels: an upper bound of the depth, since reading the true depth would wait for the device."""
        n = parents.shape[0]
        ancestors = torch.eye(n, dtype=torch.bool, device=parents.device)
        above = parents
        for _ in range(levels - 1):
            inside = above >= 0
            ancestors |= torch.zeros_like(ancestors).scatter_(1, above.clamp_min(0)[:, None], inside[:, None])
            above = torch.where(inside, parents[above.clamp_min(0)], above)
        order = torch.arange(n, device=parents.device)
        earlier = (parents[:, None] == parents[None]) & (order[:, None] > order[None])
        return cls(parents, ancestors, earlier)

    def pass_shape(self, uncached: int) -> PassShape:
        """Positions and tree mask of one pass over `uncached` context tokens (the last is the root) and then the N nodes."""
        n = self.parents.shape[0]
        depth = torch.cat([torch.arange(uncached, device=self.parents.device), uncached - 1 + self.depth])
        tree_mask = torch.ones(uncached + n, uncached + n, dtype=torch.bool, device=self.parents.device).tril_()
        tree_mask[uncached:, uncached:] = self.ancestors
        return PassShape(depth, tree_mask)


def parse_shape(text: str) -> tuple[int, ...]:
    """`3x2x1` -> (3, 2, 1), the children of every node of each depth. Raises UserError for another text or more than 128 nodes."""
    parts = text.lower().split("x")
    if not all(p.isdecimal() and len(p) < 9 and int(p) > 0 for p in parts):
        raise UserError(f"--tree wants chain, auto or candidates per depth like 3x2x1, not {text[:40]!r}.", "shape", setting="tree", given=text[:40])
    shape = tuple(map(int, parts))
    nodes, width = 0, 1
    for branches in shape:
        width *= branches
        nodes += width
    if nodes > 128:
        raise UserError(f"--tree {text} has {nodes} nodes; at most 128 fit one pass.", "shape_big", setting="tree", n=nodes, most=128)
    return shape
