"""Between host and device, counted. A round may wait for the device once; everything it needs travels in one packed copy."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

waits = 0       # how often this process waited for a device

Layout = tuple[tuple[str, torch.Size], ...]
Mark = float | torch.cuda.Event


def pack(tensors: dict[str, Tensor]) -> tuple[Tensor, Layout]:
    """Tensors of any shape -> one float64 vector on their device, and where each lies in it. Waits for nothing."""
    flat = torch.cat([t.detach().reshape(-1).to(torch.float64) for t in tensors.values()])
    return flat, tuple((name, t.shape) for name, t in tensors.items())


@dataclass(frozen=True)
class HostCopy:
    """A packed vector on its way to the host."""
    flat: Tensor
    layout: Layout
    arrived: torch.cuda.Event | None = None


def start_copy(flat: Tensor, layout: Layout) -> HostCopy:
    """Send what `pack` made to the host. Waits for nothing; the device may go on to use `flat`'s memory in later work."""
    if not flat.is_cuda:
        return HostCopy(flat, layout)
    host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
    host.copy_(flat, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(flat.device))
    return HostCopy(host, layout, arrived)


def wait(parcel: HostCopy) -> dict[str, list]:
    """The names with (nested) lists of Python floats; ids stay exact up to 2**53. The one place that waits."""
    global waits
    waits += 1
    if parcel.arrived is not None:
        parcel.arrived.synchronize()
    values, out, at = parcel.flat.tolist(), {}, 0
    for name, shape in parcel.layout:
        size = shape.numel()
        out[name] = _nest(values[at:at + size], shape)
        at += size
    return out


def to_device(values: Sequence[int], device: torch.device) -> Tensor:
    """Host numbers -> [n] int64 on the device, without waiting for it: a plain copy from unpinned memory would."""
    return torch.tensor(values, dtype=torch.long, pin_memory=device.type == "cuda").to(device, non_blocking=True)


@cache
def constant(values: tuple[int, ...], device: torch.device) -> Tensor:
    """`send`, once for each vector: the shape of a tree must already lie on the device while a graph is captured."""
    return to_device(values, device)


def mark(device: torch.device) -> Mark:
    """A moment of the device's own time. Never waits."""
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


def seconds(first: Mark, last: Mark) -> float:
    """Between two marks; the device must have passed both."""
    return last - first if isinstance(first, float) else first.elapsed_time(last) / 1e3


def _nest(values: list[float], shape: torch.Size) -> list:
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0] if shape[0] else 0
    return [_nest(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]
