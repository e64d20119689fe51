"""A linear layer that can hand its weight to one of the CPU's kernels (core.models.kernels)."""
from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models import kernels


class Linear(nn.Module):
    """y = x W^T + b; weight [out, in], bias [out] or None."""

    def __init__(self, n_in: int, n_out: int, bias: bool = False, **where) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in, **where))
        self.bias = nn.Parameter(torch.empty(n_out, **where)) if bias else None
        self.kernel: Callable[[Tensor], Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        return self.kernel(x) if self.kernel is not None else F.linear(x, self.weight, self.bias)

    def pack(self, kernel: str, keep_weight: bool = False) -> None:
        """Switch to the kernel of this name (inference only). The plain weight is freed, unless keep_weight says that it is used elsewhere."""
        if self.kernel is None:
            self.kernel = kernels.make(kernel, self.weight.detach(), None if self.bias is None else self.bias.detach())
            self.packed_bytes = self.kernel.nbytes
            if not keep_weight:
                self.weight = None
