"""Captured captured functions: a round's draft and its verification each as one CUDA graph; on a CPU the same static buffers, called eagerly.

A captured function is a frozen dataclass whose `__call__(cache, *tensors)` returns a tuple. What it may depend on is in its fields, which are its
key, or in its tensors, which are copied into static inputs before every replay. Outputs are copied out again, since the next
replay overwrites them. On a CPU the same rules hold, so that every test of the decoding core can prove them without a GPU.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from core.models.cache import GraphCacheView, KVCache

CapturedFunction = Callable[..., tuple]
Cached = Any                                    # whatever the target keeps; only a KVCache can be captured
CPU_BY_DEFAULT = False                          # the static buffers of a CPU cost time and gain none: tests ask for them
BUCKETS = {"cuda": 128, "static": 32}           # entries that attention reads at least; on a CPU every entry costs, a new bucket nothing
KEPT_LARGE = 4096                               # larger caches are rounded up to multiples of a quarter of this, not doubled


class GraphRunner:
    """Runs captured functions: captured where it can be, else directly. Kept with a target, so that later runs find their graphs.

    mode: cuda, static (the CPU's), or None; `why` then says why not.
    """

    def __init__(self, device: torch.device | str = "cpu", enabled: bool = True, limit: int = 32, why: str = "--no-graphs") -> None:
        """limit: captured functions kept; the one not used for the longest time goes first."""
        self.device, self.limit, self.why = torch.device(device), limit, why
        kind = self.device.type
        self.mode = {"cuda": "cuda", "cpu": "static"}.get(kind) if enabled else None
        if enabled and self.mode is None:
            self.why = f"{kind} has no graphs"
        self.patience = 1 if self.mode == "cuda" else 0         # direct calls before a capture: the odd lengths at a run's end cost none
        self.kind = _Captured if self.mode == "cuda" else _Static
        self.kept: OrderedDict[tuple, _Static] = OrderedDict()
        self.asked: dict[tuple, int] = {}
        self.free: dict[Any, KVCache] = {}                      # model -> the buffers that its next run takes over
        self.pool = torch.cuda.graph_pool_handle() if self.mode == "cuda" else None

    @property
    def label(self) -> str:
        """For the trace."""
        return self.mode or f"off: {self.why}"

    def run(self, function: CapturedFunction, cache: Cached, adds: int, *inputs: Tensor | None, capture: bool = True) -> tuple:
        """captured function(cache, *inputs), and the cache's length advanced. adds: at most so many entries are added to the cache.

        capture=False: directly, for inputs of ever new shapes and captured functions that must look at their data.
        """
        if self.mode is None or not capture:
            return function(cache, *inputs)
        size = 0 if cache is None else self.bucket(cache.length + adds, cache.capacity)
        key = (function, cache, size, tuple(None if x is None else (x.shape, x.dtype) for x in inputs))
        static = self.kept.get(key)
        if static is None:
            times = self.asked.get(key, 0)
            if times < self.patience:
                if len(self.asked) >= 8 * self.limit:
                    self.asked.clear()
                self.asked[key] = times + 1
                return function(cache, *inputs)
            while len(self.kept) >= self.limit:
                self.kept.popitem(last=False)
            self.asked.pop(key, None)
            static = self.kept[key] = self.kind(function, cache, size, inputs, self.pool)
        self.kept.move_to_end(key)
        return static.replay(inputs)

    def bucket(self, need: int, most: int) -> int:
        """Entries that a pass reaching `need` reads."""
        size = BUCKETS[self.mode]
        if self.mode == "static":
            size = -(-need // size) * size
        while size < need:
            size *= 2
        return min(size, most)

    @torch.inference_mode()
    def lend(self, model: Any, capacity: int) -> KVCache:
        """An empty cache for at least `capacity` entries; the last run's, if it is large enough, for graphs point into it."""
        if self.mode is None:
            return model.new_cache(capacity)
        found = self.free.pop(model, None)
        if found is not None and found.capacity >= capacity:
            found.k.zero_()             # old entries are masked, but a NaN among them would pass any mask
            found.v.zero_()
            found.length = 0
            return found
        if found is not None:
            self._drop(found)
        quarter = KEPT_LARGE // 4
        return model.new_cache(-(-capacity // quarter) * quarter if capacity > KEPT_LARGE else self.bucket(capacity, KEPT_LARGE))

    def give_back(self, model: Any, cache: KVCache) -> None:
        """A run is over. Of two runs at a time only the larger cache stays."""
        if self.mode is None:
            return
        other = self.free.get(model)
        if other is not None and other.capacity >= cache.capacity:
            cache, other = other, cache
        self.free[model] = cache
        if other is not None:
            self._drop(other)

    def _drop(self, cache: KVCache) -> None:
        """Forget the captured functions that point into these buffers."""
        for functions in (self.kept, self.asked):
            for key in [k for k in functions if k[1] is cache]:
                del functions[key]


class _Static:
    """One captured function with its buffers. Made, it has run once on the given inputs."""

    def __init__(self, function: CapturedFunction, cache: KVCache | None, bucket: int, inputs: tuple[Tensor | None, ...], pool: Any) -> None:
        self.function, self.cache = function, cache
        self.inputs = [None if x is None else x.clone() for x in inputs]
        self.view = None
        if cache is not None:
            self.view = GraphCacheView(cache, torch.full((1,), cache.length, dtype=torch.long, device=cache.k.device), bucket)
        self.outputs: tuple = ()
        self.up_to_date = self.prepare(pool)         # whether `outputs` already are those of the first inputs
        if self.view is not None:
            self.added, self.reach = self.view.length, self.view.longest

    def prepare(self, pool: Any) -> bool:
        self.outputs = tuple(x.clone() if isinstance(x, Tensor) else x for x in self.call())
        return True

    def call(self) -> tuple:
        if self.view is not None:
            self.view.begin()
        return self.function(self.view, *self.inputs)

    def again(self) -> None:
        for own, new in zip(self.outputs, self.call()):
            if isinstance(own, Tensor):
                own.copy_(new)

    def replay(self, inputs: tuple[Tensor | None, ...]) -> tuple:
        cache = self.cache
        if cache is not None and cache.length + self.reach > min(cache.capacity, self.view.bucket):
            raise IndexError(f"KV cache of {cache.capacity} positions cannot take position {cache.length + self.reach - 1}")
        if not self.up_to_date:
            for own, given in zip(self.inputs, inputs):
                if own is not None:
                    own.copy_(given)
            if cache is not None:
                self.view.start.fill_(cache.length)
            self.again()
        self.up_to_date = False
        if cache is not None:
            cache.length += self.added
        return tuple(x.clone() if isinstance(x, Tensor) else x for x in self.outputs)


class _Captured(_Static):
    """The same, recorded by CUDA. Warm-up and capture write the entries that the replay writes again."""

    def prepare(self, pool: Any) -> bool:
        where = next(x.device for x in self.inputs if x is not None)
        with torch.cuda.device(where):
            here, side = torch.cuda.current_stream(), torch.cuda.Stream()
            side.wait_stream(here)
            with torch.cuda.stream(side):       # libraries make their workspaces and plans before the capture
                self.call()
            here.wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):   # other threads may serve a page meanwhile
                self.outputs = self.call()
        return False

    def again(self) -> None:
        self.graph.replay()
