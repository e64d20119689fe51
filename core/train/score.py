"""Held-out acceptance of a draft, measured with teacher forcing on text that the target wrote."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Score:
    """Sums over rounds. Entry [i, t] is the i-th drafted token (from 0) of a round that begins at position t; the tokens before it are the text's.

    agree: the draft's likeliest token is the target's (greedy acceptance). overlap: sum min(p, q) at temperature 1.
    """
    depth: int
    sums: dict[str, Tensor] = field(default_factory=dict)
    positions: int = 0

    def add(self, agree: Tensor, overlap: Tensor) -> None:
        """agree, overlap: [depth, n] for n consecutive positions of one text."""
        for name, value in (("agree", agree), ("overlap", overlap)):
            value = value.double().cpu()
            chain = value.cumprod(0)
            self.sums[name] = self.sums.get(name, 0) + value.sum(1)
            self.sums[name + "_chain"] = self.sums.get(name + "_chain", 0) + chain.sum(1)
        self.positions += agree.shape[1]

    def result(self) -> dict:
        """Means by draft position: `*_by_position` over all rounds, `*_accepted` over rounds that accepted all tokens before it."""
        out: dict = {"positions": self.positions}
        for name in ("agree", "overlap"):
            mean, chain = self.sums[name] / self.positions, self.sums[name + "_chain"] / self.positions
            before = torch.cat([torch.ones(1, dtype=torch.float64), chain[:-1]])
            out[name + "_by_position"] = [round(float(v), 4) for v in mean]
            out[name + "_accepted"] = [round(float(v), 4) for v in chain / before.clamp(min=1e-12)]
            out[name + "_tokens_per_round"] = round(1 + float(chain.sum()), 4)
        return out


def rounds(per_position: Tensor, depth: int) -> Tensor:
    """[n] -> [depth, n - depth + 1], for a draft whose result at a position depends only on the text and not on the round's beginning."""
    return per_position.unfold(0, depth, 1).T
