"""A draft's way through the grammar, token by token: the mask of each place, and the forced tokens behind a drawn one."""
from __future__ import annotations

import torch
from torch import Tensor

from core.grammar.matcher import Cursor
from core.sampling import mask


class Walk:
    """Used by proposers that draft one token after the other. It pushes onto the cursor; who asked for the draft goes back afterwards.

    It reads each drawn token on the host, so what uses it cannot be captured.
    """

    def __init__(self, cursor: Cursor, left: int, vocab_size: int, device: torch.device, jumps: bool = True) -> None:
        """left: the most tokens; jumps: whether `take` goes on over forced tokens by itself (else each is drawn)."""
        self.cursor, self.left, self.vocab_size, self.device, self.jumps = cursor, left, vocab_size, device, jumps
        self.over = left <= 0           # nothing more can be drafted

    def allowed(self) -> Tensor:
        """[V] bool: the ids allowed next."""
        return mask.allowed(torch.from_numpy(self.cursor.mask()).to(self.device), self.vocab_size)

    def take(self, token: int) -> list[int]:
        """Go on with a drawn token -> the forced tokens behind it."""
        self.left -= 1
        if self.left <= 0 or self.cursor.ended or token in self.cursor.grammar.eos_ids:
            self.over = True
            return []
        self.cursor.push(token)
        forced = self.cursor.forced(self.left) if self.jumps else []
        self.left -= len(forced)
        self.over = self.left <= 0 or (bool(forced) and forced[-1] in self.cursor.grammar.eos_ids)
        return forced
