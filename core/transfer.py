"""Device -> host, counted. A round may wait for the device once; everything it needs travels in one packed copy."""
from __future__ import annotations

import torch
from torch import Tensor

waits = 0       # how often this process waited for a device


def fetch(tensors: dict[str, Tensor]) -> dict[str, list]:
    """Tensors of any shape -> the same names with (nested) lists of Python floats; ids stay exact up to 2**53."""
    global waits
    waits += 1
    flat = torch.cat([t.detach().reshape(-1).to(torch.float64) for t in tensors.values()]).tolist()
    out, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel()
        out[name] = _nest(flat[at:at + size], tensor.shape)
        at += size
    return out


def _nest(values: list[float], shape: torch.Size) -> list:
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0] if shape[0] else 0
    return [_nest(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]
