"""Static KV cache: allocated once and never copied; a rollback sets its length. And the view of it that a captured function uses."""
from __future__ import annotations

import torch
from torch import Tensor


class KVCache:
    """Keys and values [layers, rows, kv_heads, capacity, head_dim]. Entries before `length` are valid; those from it on may be overwritten."""

    def __init__(self, layers: int, rows: int, kv_heads: int, capacity: int, head_dim: int,
                 dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.both = torch.zeros(layers, 2, rows, kv_heads, capacity, head_dim, dtype=dtype, device=device)
        self.k, self.v = self.both.unbind(1)
        self.length = 0
        # unbound once: indexing the tensors by layer would cost a microsecond per layer and pass
        self.layers = list(zip(self.k.unbind(0), self.v.unbind(0)))
        self._slices: tuple = (-1, 0)           # length and n that they are of; by layer: n entries to write, keys and values up to their end

    @property
    def capacity(self) -> int:
        return self.k.shape[3]

    @property
    def nbytes(self) -> int:
        return self.both.nbytes

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store k, v [rows, kv_heads, n, head_dim] at `length`; return views of all entries, the new ones included. `length` stays.

        Raises IndexError where they do not fit.
        """
        end = self.length + k.shape[2]
        if end > self.capacity:
            raise IndexError(f"KV cache of {self.capacity} positions cannot take position {end - 1}")
        keys, values = self.layers[layer]
        keys[:, :, self.length:end] = k
        values[:, :, self.length:end] = v
        return keys[:, :, :end], values[:, :, :end]

    def write_both(self, layer: int, kv: Tensor) -> tuple[Tensor, Tensor]:
        """As `write`, keys and values in one tensor [2, rows, kv_heads, n, head_dim] of any dtype."""
        n = kv.shape[3]
        if self._slices[:2] != (self.length, n):        # once a pass, for all layers
            end = self.length + n
            if end > self.capacity:
                raise IndexError(f"KV cache of {self.capacity} positions cannot take position {end - 1}")
            new, k, v = self.both[..., self.length:end, :], self.k[..., :end, :], self.v[..., :end, :]
            self._slices = self.length, n, new.unbind(0), k.unbind(0), v.unbind(0)
        _, _, new, keys, values = self._slices
        new[layer].copy_(kv)
        return keys[layer], values[layer]

    def truncate(self, length: int) -> None:
        """Roll back: forget every entry from `length` on. Raises IndexError if the cache has fewer entries."""
        if not 0 <= length <= self.length:
            raise IndexError(f"cannot cut a cache of {self.length} entries to {length}")
        self.length = length

    def gather(self, start: int, rows: Tensor) -> None:
        """Move entries start + rows [n] to start, start + 1, ... and end the cache there: the accepted path of a tree becomes a chain."""
        self.both[..., start:start + len(rows), :] = self.both.index_select(4, start + rows)      # index_select copies: overlap is safe
        self.length = start + len(rows)


class GraphCacheView:
    """A KVCache as a captured function uses it: the length is on the device, and attention always reads the first `bucket` entries.

    `length` counts the entries that this call has added so far, a number of the host that is the same in every call. Entries that are not
    valid are masked and never sliced off, so that one captured pass serves every cache length up to the bucket.
    """

    def __init__(self, cache: KVCache, start: Tensor, bucket: int) -> None:
        """start [1] int64, on the device: valid entries when the function is called."""
        self.start, self.bucket, self.rows = start, bucket, cache.k.shape[1]
        self.layers = [(k, v, k[:, :, :bucket], v[:, :, :bucket]) for k, v in cache.layers]
        self.both = cache.both.unbind(0)
        self.tables: tuple[Tensor, Tensor] | None = None      # keeps the rotary tables alive that the captured graph reads
        self.begin()

    def begin(self) -> None:
        """Call it before each call of the captured function: nothing is added yet."""
        self.length, self.longest, self._slots = 0, 0, (-1, 0, self.start)

    def slots(self, n: int) -> Tensor:
        """[n] int64: the cache entries that the next n tokens will fill."""
        if self._slots[:2] != (self.length, n):          # computed once a pass, used by every layer
            self._slots = self.length, n, self.start + torch.arange(self.length, self.length + n, device=self.start.device)
        return self._slots[2]

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """As KVCache.write, but returns the whole bucket."""
        keys, values, first_keys, first_values = self.layers[layer]
        slots = self.slots(k.shape[2])
        self.longest = max(self.longest, self.length + k.shape[2])
        keys.index_copy_(2, slots, k)
        values.index_copy_(2, slots, v)
        return first_keys, first_values

    def write_both(self, layer: int, kv: Tensor) -> tuple[Tensor, Tensor]:
        """As KVCache.write_both, but returns the whole bucket."""
        slots = self.slots(kv.shape[3])
        self.longest = max(self.longest, self.length + kv.shape[3])
        self.both[layer].index_copy_(3, slots, kv.to(self.both[layer].dtype))
        return self.layers[layer][2:]

    def truncate(self, length: int) -> None:
        """Roll back to `length` added entries. Raises IndexError if fewer were added."""
        if not 0 <= length <= self.length:
            raise IndexError(f"cannot cut {self.length} added entries to {length}")
        self.length = length

    def mask(self, query: Tensor, dtype: torch.dtype, sliding: int | None = None) -> Tensor:
        """[K, bucket], 0 or -inf: the additive causal mask of K tokens at the positions query [K]. sliding: window size."""
        key = torch.arange(self.bucket, device=query.device)
        seen = key <= query[:, None]
        if sliding is not None:
            seen &= key > query[:, None] - sliding
        return _additive(seen, dtype)

    def tree_mask(self, visible: Tensor, first: int, dtype: torch.dtype, depth: Tensor | None = None, sliding: int | None = None) -> Tensor:
        """[K, bucket], 0 or -inf: the additive mask of K tree nodes, which are the last K of the n entries from start + first on.

        visible [K, n] bool: which of the n entries each node attends to. Every node attends to all entries before start + first.
        depth [n]: position of each of the n entries minus (start + first); needed only with a sliding window.
        """
        n = visible.shape[1]
        key = torch.arange(self.bucket, device=visible.device)
        base = self.start + first
        offset = key - base                      # below 0: context; 0 to n - 1: one of the n entries; else not valid
        column = offset.clamp(0, n - 1)
        seen = (offset < 0) | (visible.index_select(1, column) & (offset < n))
        if sliding is not None:
            position = torch.where(offset < 0, key, base + depth.index_select(0, column))
            seen &= position > (base + depth[n - visible.shape[0]:])[:, None] - sliding
        return _additive(seen, dtype)


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)
