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


class GraphCacheView:
    """A cache as a captured function sees it: its length is a number on the device, and attention reads its first `bucket` entries.

    `length` counts the entries that the function has added so far. Entries behind them are masked, never sliced off, so that one
    captured pass serves every length up to the bucket.
    """

    def __init__(self, cache: KVCache, start: Tensor, bucket: int) -> None:
        """start [1] int64: entries in the cache when the function is called."""
        self.start, self.bucket, self.rows = start, bucket, cache.k.shape[1]
        self.layers = [(k, v, k[:, :, :bucket], v[:, :, :bucket]) for k, v in cache.layers]
        self.tables: tuple[Tensor, Tensor] | None = None      # rotary tables that the captured graph reads must not be freed before it
        self.begin()

    def begin(self) -> None:
        """Before each call of the captured function: nothing is added yet."""
        self.length, self.longest, self._places = 0, 0, (-1, 0, self.start)

    def places(self, n: int) -> Tensor:
        """[n] int64: where the next n entries go."""
        if self._places[:2] != (self.length, n):
            self._places = self.length, n, self.start + torch.arange(self.length, self.length + n, device=self.start.device)
        return self._places[2]

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As KVCache.write; returns the whole bucket."""
        keys, values, first_keys, first_values = self.layers[layer]
        places = self.places(k.shape[2])
        self.longest = max(self.longest, self.length + k.shape[2])
        keys.index_copy_(2, places, k)
        values.index_copy_(2, places, v)
        return first_keys, first_values

    def truncate(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise IndexError(f"cannot cut {self.length} added entries to {length}")
        self.length = length

    def mask(self, query: Tensor, dtype: torch.dtype, sliding: int | None = None) -> Tensor:
        """[K, bucket], 0 or -inf, of a chain whose tokens have the positions query [K]."""
        key = torch.arange(self.bucket, device=query.device)
        seen = key <= query[:, None]
        if sliding is not None:
            seen &= key > query[:, None] - sliding
        return _additive(seen, dtype)

    def tree_mask(self, visible: Tensor, first: int, dtype: torch.dtype, depth: Tensor | None = None, sliding: int | None = None) -> Tensor:
        """[K, bucket], 0 or -inf. visible [K, n] bool: which of the n entries behind start + first each of the pass's K tokens (the last of
        the n) attends to; it attends to all entries before those. depth [n]: with a sliding window, their positions behind start + first."""
        n = visible.shape[1]
        key = torch.arange(self.bucket, device=visible.device)
        base = self.start + first
        inside = key - base
        column = inside.clamp(0, n - 1)
        seen = (inside < 0) | (visible.index_select(1, column) & (inside < n))
        if sliding is not None:
            position = torch.where(inside < 0, key, base + depth.index_select(0, column))
            seen &= position > (base + depth[n - visible.shape[0]:])[:, None] - sliding
        return _additive(seen, dtype)


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)
