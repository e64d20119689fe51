"""A fake GPU: tensors of its device `fakegpu` have shapes and no values, and every operation that would wait for a GPU raises.

Under FakeTensorMode they raise on item, tolist, bool, nonzero, boolean masks and mixed devices. `NoHost` raises on what FakeTensorMode
allows: CPU tensors as arguments, zero-dimensional ones included.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.models import graphs, host_copy

SENDING = torch.ops.aten.to, torch.ops.aten._to_copy


class NoHost(TorchDispatchMode):
    """Raises when an operation mixes host and device. Copies to the device are allowed unless `strict`, copies back never; `sends` counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.sends, self.strict = 0, False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        leaves = tree_leaves((args, kwargs))
        given = [x for x in leaves if isinstance(x, torch.Tensor)]
        before = {x.device.type for x in given}
        to = next((x for x in leaves if isinstance(x, torch.device) and x.type == "fakegpu"), None)
        if func.overloadpacket in SENDING and before == {"cpu"} and to is not None and not self.strict:
            self.sends += 1         # made here: FakeTensorMode knows the value of a single number and would copy it
            dtype = next((x for x in leaves if isinstance(x, torch.dtype)), given[0].dtype)
            return torch.empty(given[0].shape, dtype=dtype, device=to)
        out = func(*args, **kwargs or {})
        if before | {x.device.type for x in tree_leaves(out) if isinstance(x, torch.Tensor)} == {"cpu", "fakegpu"}:
            raise AssertionError(f"{func} goes between host and device")
        return out


@cache
def device() -> torch.device:
    """The fake device, registered with torch once a process."""
    torch.utils.backend_registration._setup_privateuseone_for_python_backend("fakegpu")
    return torch.device("fakegpu", 0)


@contextmanager
def gpu() -> Iterator[tuple[torch.device, NoHost]]:
    """Inside, tensors of the fake device may be made and every operation is watched."""
    where = device()
    with FakeTensorMode(), torch.inference_mode(), NoHost() as watch:
        yield where, watch
    host_copy.constant.cache_clear()             # it holds fake tensors


class GraphRunner(graphs.GraphRunner):
    """Stands in for CUDA graphs: the second call of a captured function, which CUDA would record, must find everything on the device."""

    def __init__(self, where: torch.device, watch: NoHost) -> None:
        super().__init__(where)
        self.mode, self.direct_first, self.done = "static", 0, []
        runner = self

        class Strict(graphs._StaticCall):
            def prepare(self, pool) -> bool:
                self.call()
                watch.strict = True
                try:
                    self.outputs = self.call()
                finally:
                    watch.strict = False
                runner.done.append(type(self.function).__name__)
                return False

            def rerun(self) -> None:
                pass

        self.call_type = Strict


class HostGenerator:
    """torch.Generator for the fake device, which has none: the host's generator in its place."""

    def __init__(self, real) -> None:
        self.real = real

    def __call__(self, device="cpu"):
        return self.real()
