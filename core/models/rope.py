"""Rotary position embedding tables (Su et al. 2021), with linear and Llama-3.1 frequency scaling."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from core.models.config import DecoderConfig


def frequencies(config: DecoderConfig) -> Tensor:
    """Inverse wavelengths [head_dim / 2], float32, after the config's scaling."""
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.int64).float() / config.head_dim
    inverse = 1.0 / (config.rope_theta ** exponent)
    scaling = config.rope_scaling
    kind = scaling.get("rope_type", "default")
    if kind == "linear":
        return inverse / scaling["factor"]
    if kind == "llama3":        # long wavelengths are stretched, short ones kept, those between interpolated
        old = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        wavelength = 2 * math.pi / inverse
        smooth = ((old / wavelength - low) / (high - low)).clamp(0, 1)
        return inverse * (smooth + (1 - smooth) / scaling["factor"])
    return inverse


def tables(config: DecoderConfig, length: int, dtype: torch.dtype, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """cos and sign-folded sin, each [length, 2, head_dim / 2]: rotated = x * cos + x.flip(halves) * sin."""
    base = torch.float64 if dtype == torch.float64 else torch.float32
    angle = torch.arange(length, dtype=base)[:, None] * frequencies(config).to(base)
    cos, sin = angle.cos(), angle.sin()
    return (torch.stack([cos, cos], 1).to(device, dtype), torch.stack([-sin, sin], 1).to(device, dtype))
