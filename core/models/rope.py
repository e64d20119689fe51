"""Rotary position embedding tables (RoPE, Su et al. 2021), with linear and Llama-3.1 frequency scaling."""
from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor

from core.errors import UserError


class RotaryConfig(Protocol):
    """What the tables depend on: the part of a DecoderConfig that this file reads."""
    head_dim: int
    rope_theta: float
    rope_scaling: dict[str, Any]
    max_positions: int


def frequencies(config: RotaryConfig) -> Tensor:
    """Radians per position of each pair of dimensions, [head_dim / 2] float32, after the config's scaling."""
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.int64).float() / config.head_dim
    inverse = 1.0 / (config.rope_theta ** exponent)
    scaling = config.rope_scaling
    kind = scaling.get("rope_type", "default")
    if kind == "linear":
        return inverse / scaling["factor"]
    if kind == "llama3":        # low frequencies are divided by the factor, high ones stay, those between are interpolated
        low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
        turns = scaling["original_max_position_embeddings"] / (2 * math.pi / inverse)       # within the context of the first training
        smooth = (turns - low) / (high - low) if high != low else torch.ones_like(turns)
        between = (turns >= low) & (turns <= high)
        return torch.where(turns < low, inverse / factor, torch.where(between, (1 - smooth) * inverse / factor + smooth * inverse, inverse))
    return inverse


def check(config: RotaryConfig, where: str) -> None:
    """Raises UserError where an angle within the context is more than float32 can hold: cos and sin would be NaN."""
    if not bool((frequencies(config) * config.max_positions).isfinite().all()):
        numbers = {"rope_theta": config.rope_theta, **config.rope_scaling}
        said = ", ".join(f"{name} {value}" for name, value in numbers.items() if name != "rope_type")
        raise UserError(f"{where} asks for rotary angles that float32 cannot hold ({said}).")


def tables(config: RotaryConfig, length: int, dtype: torch.dtype, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """(cos, sin with its sign), each [length, 2, head_dim / 2]: rotated = x * cos + x.flip(halves) * sin."""
    base = torch.float64 if dtype == torch.float64 else torch.float32
    angle = torch.arange(length, dtype=base)[:, None] * frequencies(config).to(base)
    cos, sin = angle.cos(), angle.sin()
    return (torch.stack([cos, cos], 1).to(device, dtype), torch.stack([-sin, sin], 1).to(device, dtype))
