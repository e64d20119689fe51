"""Static KV cache: allocated once, never copied; rolling back is setting a length."""
from __future__ import annotations

import torch
from torch import Tensor


class KVCache:
    """Keys and values [layers, rows, kv_heads, capacity, head_dim]; entries from `length` on are free to be overwritten."""

    def __init__(self, layers: int, rows: int, kv_heads: int, capacity: int, head_dim: int,
                 dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        shape = (layers, rows, kv_heads, capacity, head_dim)
        self.k = torch.zeros(shape, dtype=dtype, device=device)
        self.v = torch.zeros(shape, dtype=dtype, device=device)
        self.length = 0
        # unbound once: indexing a 5-d tensor by layer costs a microsecond per layer and pass
        self.layers = list(zip(self.k.unbind(0), self.v.unbind(0)))

    @property
    def capacity(self) -> int:
        return self.k.shape[3]

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store k, v [rows, kv_heads, n, head_dim] behind `length`; return views of all entries up to there. Does not advance."""
        end = self.length + k.shape[2]
        if end > self.capacity:
            raise IndexError(f"KV cache of {self.capacity} positions cannot take position {end - 1}")
        keys, values = self.layers[layer]
        keys[:, :, self.length:end] = k
        values[:, :, self.length:end] = v
        return keys[:, :, :end], values[:, :, :end]

    def truncate(self, length: int) -> None:
        """Forget every entry from `length` on."""
        if not 0 <= length <= self.length:
            raise IndexError(f"cannot cut a cache of {self.length} entries to {length}")
        self.length = length

    def gather(self, start: int, rows: Tensor) -> None:
        """Move entries start + rows [n] down to start, start + 1, ... and end there: the accepted path of a tree becomes a chain."""
        self.k[:, :, :, start:start + len(rows)] = self.k.index_select(3, start + rows)   # index_select copies: overlap is safe
        self.v[:, :, :, start:start + len(rows)] = self.v.index_select(3, start + rows)
        self.length = start + len(rows)
