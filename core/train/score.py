"""Held-out acceptance of a draft, from teacher-forced passes over text that the target wrote."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Score:
    """Entry [i, t] speaks of a round that begins at position t: its (i+1)-th drafted token, all before it being the text's own.

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
        """By position: `*_by_position` on the text's own prefix; `*_accepted` among rounds in which all before it were accepted."""
        out: dict = {"positions": self.positions}
        for name in ("agree", "overlap"):
            mean, chain = self.sums[name] / self.positions, self.sums[name + "_chain"] / self.positions
            before = torch.cat([torch.ones(1, dtype=torch.float64), chain[:-1]])
            out[name + "_by_position"] = [round(float(v), 4) for v in mean]
            out[name + "_accepted"] = [round(float(v), 4) for v in chain / before.clamp(min=1e-12)]
            out[name + "_tokens_per_round"] = round(1 + float(chain.sum()), 4)
        return out


def rounds(per_position: Tensor, depth: int) -> Tensor:
    """[n] -> [depth, n - depth + 1]: a draft whose step depends on the text alone has the same number at every depth."""
    return per_position.unfold(0, depth, 1).T
