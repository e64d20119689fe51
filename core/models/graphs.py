"""CUDA graphs: a round's draft and its verification each run as one captured function. A CPU uses the same static buffers and calls it eagerly.

A captured function is a frozen dataclass whose `__call__(cache, *tensors)` returns a tuple. It may depend only on its fields, which are
part of its key, and on its tensors, which are copied into static inputs before every replay. Outputs are copied out, since the next
replay overwrites them. The same holds on a CPU, so that the tests need no GPU to find a function that breaks these rules.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from core.models.cache import GraphCacheView, KVCache

CapturedFunction = Callable[..., tuple]
Cached = Any                                    # any target's cache; only a KVCache can be captured
CPU_BY_DEFAULT = False                          # static buffers make a CPU slower, so only tests turn them on
BUCKETS = {"cuda": 128, "static": 32}           # smallest number of entries that attention reads; a CPU pays for each entry, not for each bucket
DOUBLED_UP_TO = 4096                            # cache capacities double up to here, then grow by a quarter of this


class GraphRunner:
    """Runs captured functions, by replay where possible, else directly. Each target keeps its runner, so that later runs reuse the graphs.

    mode: "cuda" (graphs), "static" (a CPU's static buffers), or None: every call is direct, and `why` says why.
    """

    def __init__(self, device: torch.device | str = "cpu", enabled: bool = True, limit: int = 32, why: str = "--no-graphs") -> None:
        """limit: how many captured functions to keep; the least recently used one is dropped first."""
        self.device, self.limit, self.why = torch.device(device), limit, why
        kind = self.device.type
        self.mode = {"cuda": "cuda", "cpu": "static"}.get(kind) if enabled else None
        if enabled and self.mode is None:
            self.why = f"{kind} has no graphs"
        self.direct_first = 1 if self.mode == "cuda" else 0     # direct calls before a capture: lengths that occur once, at a run's end, need none
        self.call_type = _CudaGraphCall if self.mode == "cuda" else _StaticCall
        self.captured: OrderedDict[tuple, _StaticCall] = OrderedDict()      # by key, least recently used first
        self.direct_calls: dict[tuple, int] = {}                # key -> direct calls so far
        self.idle_caches: dict[Any, KVCache] = {}               # model -> the cache that its next run takes
        self.pool = torch.cuda.graph_pool_handle() if self.mode == "cuda" else None

    @property
    def label(self) -> str:
        """The mode in words, for the trace."""
        return self.mode or f"off: {self.why}"

    def run(self, function: CapturedFunction, cache: Cached, adds: int, *inputs: Tensor | None, capture: bool = True) -> tuple:
        """Returns function(cache, *inputs); the cache's length has advanced. adds: upper bound of the entries that the call adds to the cache.

        capture=False calls it directly: for inputs whose shapes rarely recur, and for functions that read values from the device.
        """
        if self.mode is None or not capture:
            return function(cache, *inputs)
        size = 0 if cache is None else self.bucket(cache.length + adds, cache.capacity)
        key = (function, cache, size, tuple(None if x is None else (x.shape, x.dtype) for x in inputs))
        call = self.captured.get(key)
        if call is None:
            times = self.direct_calls.get(key, 0)
            if times < self.direct_first:
                if len(self.direct_calls) >= 8 * self.limit:
                    self.direct_calls.clear()
                self.direct_calls[key] = times + 1
                return function(cache, *inputs)
            while len(self.captured) >= self.limit:
                self.captured.popitem(last=False)
            self.direct_calls.pop(key, None)
            call = self.captured[key] = self.call_type(function, cache, size, inputs, self.pool)
        self.captured.move_to_end(key)
        return call.replay(inputs)

    def bucket(self, need: int, most: int) -> int:
        """How many entries attention reads in a pass that fills the cache up to `need`; never more than `most`."""
        size = BUCKETS[self.mode]
        if self.mode == "static":
            size = -(-need // size) * size
        while size < need:
            size *= 2
        return min(size, most)

    @torch.inference_mode()
    def lend(self, model: Any, capacity: int) -> KVCache:
        """An empty cache for at least `capacity` entries. The model's idle cache if it is large enough, since graphs point into its buffers."""
        if self.mode is None:
            return model.new_cache(capacity)
        found = self.idle_caches.pop(model, None)
        if found is not None and found.capacity >= capacity:
            found.k.zero_()             # old entries are masked, but a NaN among them would spread: 0 * NaN = NaN
            found.v.zero_()
            found.length = 0
            return found
        if found is not None:
            self._drop(found)
        quarter = DOUBLED_UP_TO // 4
        return model.new_cache(-(-capacity // quarter) * quarter if capacity > DOUBLED_UP_TO else self.bucket(capacity, DOUBLED_UP_TO))

    def give_back(self, model: Any, cache: KVCache) -> None:
        """A run returns its cache when it ends. Of two runs at the same time, the larger cache is kept for the next run."""
        if self.mode is None:
            return
        other = self.idle_caches.get(model)
        if other is not None and other.capacity >= cache.capacity:
            cache, other = other, cache
        self.idle_caches[model] = cache
        if other is not None:
            self._drop(other)

    def _drop(self, cache: KVCache) -> None:
        """Forget the captured functions that point into these buffers."""
        for by_key in (self.captured, self.direct_calls):
            for key in [k for k in by_key if k[1] is cache]:
                del by_key[key]


class _StaticCall:
    """One function with static input and output buffers. Making it runs the function once on the given inputs."""

    def __init__(self, function: CapturedFunction, cache: KVCache | None, bucket: int, inputs: tuple[Tensor | None, ...], pool: Any) -> None:
        self.function, self.cache = function, cache
        self.inputs = [None if x is None else x.clone() for x in inputs]
        self.view = None
        if cache is not None:
            self.view = GraphCacheView(cache, torch.full((1,), cache.length, dtype=torch.long, device=cache.k.device), bucket)
        self.outputs: tuple = ()
        self.up_to_date = self.prepare(pool)         # whether `outputs` already hold the results for the first inputs
        if self.view is not None:
            self.added, self.most_added = self.view.length, self.view.longest     # entries left at the end; most at any time

    def prepare(self, pool: Any) -> bool:
        """Make `outputs`. Returns whether they hold the results for the first inputs."""
        self.outputs = tuple(x.clone() if isinstance(x, Tensor) else x for x in self.call())
        return True

    def call(self) -> tuple:
        if self.view is not None:
            self.view.begin()
        return self.function(self.view, *self.inputs)

    def rerun(self) -> None:
        """Compute `outputs` from `inputs`, in place."""
        for own, new in zip(self.outputs, self.call()):
            if isinstance(own, Tensor):
                own.copy_(new)

    def replay(self, inputs: tuple[Tensor | None, ...]) -> tuple:
        """The results for these inputs, as copies. Raises IndexError if the cache would overflow."""
        cache = self.cache
        if cache is not None and cache.length + self.most_added > min(cache.capacity, self.view.bucket):
            raise IndexError(f"KV cache of {cache.capacity} positions cannot take position {cache.length + self.most_added - 1}")
        if not self.up_to_date:
            for own, given in zip(self.inputs, inputs):
                if own is not None:
                    own.copy_(given)
            if cache is not None:
                self.view.start.fill_(cache.length)
            self.rerun()
        self.up_to_date = False
        if cache is not None:
            cache.length += self.added
        return tuple(x.clone() if isinstance(x, Tensor) else x for x in self.outputs)


class _CudaGraphCall(_StaticCall):
    """The same as a CUDA graph. The cache entries that warm-up and capture write are written again by the first replay."""

    def prepare(self, pool: Any) -> bool:
        where = next(x.device for x in self.inputs if x is not None)
        with torch.cuda.device(where):
            here, side = torch.cuda.current_stream(), torch.cuda.Stream()
            side.wait_stream(here)
            with torch.cuda.stream(side):       # warm-up: libraries allocate workspaces and choose plans, which a capture does not allow
                self.call()
            here.wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):   # other threads may use CUDA meanwhile
                self.outputs = self.call()
        return False

    def rerun(self) -> None:
        self.graph.replay()
