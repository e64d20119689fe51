"""Copies between host and device. A round waits for the device once: all it needs comes in one packed, asynchronous copy."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

waits = 0       # how often this process has waited for a device

Layout = tuple[tuple[str, torch.Size], ...]
Mark = float | torch.cuda.Event


def pack(tensors: dict[str, Tensor]) -> tuple[Tensor, Layout]:
    """Tensors of any shape -> one float64 vector on their device, and the shape of each in order. Does not wait for the device."""
    flat = torch.cat([t.detach().reshape(-1).to(torch.float64) for t in tensors.values()])
    return flat, tuple((name, t.shape) for name, t in tensors.items())


@dataclass(frozen=True)
class HostCopy:
    """A packed vector whose asynchronous copy to the host has been started."""
    flat: Tensor
    layout: Layout
    done: torch.cuda.Event | None = None


def start_copy(flat: Tensor, layout: Layout) -> HostCopy:
    """Start copying what `pack` made to the host, without waiting. Later work of the device may overwrite `flat`: the stream keeps the order."""
    if not flat.is_cuda:
        return HostCopy(flat, layout)
    host = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)
    host.copy_(flat, non_blocking=True)
    done = torch.cuda.Event()
    done.record(torch.cuda.current_stream(flat.device))
    return HostCopy(host, layout, done)


def wait(copy: HostCopy) -> dict[str, list]:
    """Wait until the copy is done: each name with its values as (nested) lists of floats; ids are exact up to 2**53. Nothing else waits."""
    global waits
    waits += 1
    if copy.done is not None:
        copy.done.synchronize()
    values, out, at = copy.flat.tolist(), {}, 0
    for name, shape in copy.layout:
        size = shape.numel()
        out[name] = _nest(values[at:at + size], shape)
        at += size
    return out


def to_device(values: Sequence[int], device: torch.device) -> Tensor:
    """Numbers of the host -> [n] int64 on the device. From pinned memory, since a copy from unpinned memory would wait for the device."""
    return torch.tensor(values, dtype=torch.long, pin_memory=device.type == "cuda").to(device, non_blocking=True)


@cache
def constant(values: tuple[int, ...], device: torch.device) -> Tensor:
    """`to_device`, cached by value: a capture allows no copy from the host, so a tree's shape must lie on the device before it."""
    return to_device(values, device)


def mark(device: torch.device) -> Mark:
    """A point in the device's stream, to be timed with `seconds`. Does not wait."""
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(device))
    return event


def seconds(first: Mark, last: Mark) -> float:
    """Seconds between two marks; the device must have passed both."""
    return last - first if isinstance(first, float) else first.elapsed_time(last) / 1e3


def _nest(values: list[float], shape: torch.Size) -> list:
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0] if shape[0] else 0
    return [_nest(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]
