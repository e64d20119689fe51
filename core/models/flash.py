"""Flash attention (Dao, FlashAttention-2, 2023) for passes over a chain: the kernel itself masks causally.

With a mask tensor, torch would take a slower kernel. Passes over a tree need one, since flash attention takes no arbitrary mask.
"""
from __future__ import annotations

import functools
import inspect
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

SUPPORTED = {("cuda", 2)}    # device type and bytes per number: float16 and bfloat16 on CUDA


def supports(device: torch.device, dtype: torch.dtype) -> bool:
    return (device.type, dtype.itemsize) in SUPPORTED


class CausalLowerRight(NamedTuple):
    """Causal, aligned at the lower right: the last query attends to all keys. For a direct pass, where the host knows the number of keys."""
    bias: Tensor

    @classmethod
    def of(cls, queries: int, keys: int) -> CausalLowerRight:
        from torch.nn.attention.bias import causal_lower_right  # imported late: it imports torch._dynamo, which takes a second and needs NumPy
        return cls(causal_lower_right(queries, keys))


class VarlenCausal(NamedTuple):
    """The same over the first entries of a bucket, where only the device knows how many are valid. For a captured pass of one row."""
    queries: Tensor      # [2] int32: cumulative lengths 0, K
    keys: Tensor         # [2] int32: cumulative lengths 0, valid entries (this pass's own included)
    bucket: int

    @classmethod
    def of(cls, end: Tensor, K: int, bucket: int) -> VarlenCausal:
        """end [1]: valid entries. K queries, the last of which is the last valid entry."""
        return cls(torch.arange(2, device=end.device, dtype=torch.int32) * K, F.pad(end.int(), (1, 0)), bucket)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [1, K, query heads, D]; k, v [1, kv heads, bucket, D] -> [1, K, query heads, D]."""
        out = _varlen()(q[0], k[0].transpose(0, 1), v[0].transpose(0, 1), self.queries, self.keys, q.shape[1], self.bucket,
                        window_size=(-1, 0), enable_gqa=True)
        return out.unsqueeze(0)


def _varlen():
    from torch.nn.attention.varlen import varlen_attn
    return varlen_attn


@functools.cache
def refusal(device: torch.device, dtype: torch.dtype, heads: int, kv_heads: int, head_dim: int) -> str:
    """Why VarlenCausal cannot serve this device, dtype and shape, or "" if it can: tried once and compared with attention under a mask."""
    if not supports(device, dtype):
        return f"no flash attention for {str(dtype).removeprefix('torch.')} on {device.type}"
    try:
        if "enable_gqa" not in inspect.signature(_varlen()).parameters:
            return f"torch {torch.__version__} has no flash attention for grouped heads of unknown length"
        furthest = max(_distance(device, dtype, heads, kv_heads, head_dim, K, end) for K, end in ((1, 1), (1, 37), (5, 100), (6, 128)))
    except (ImportError, RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        return f"flash attention refused: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return "" if furthest < 0.02 else f"flash attention is off by {furthest:.2g} here"


@torch.inference_mode()
def _distance(device: torch.device, dtype: torch.dtype, heads: int, kv_heads: int, head_dim: int, K: int, end: int, bucket: int = 128) -> float:
    """The largest difference from attention in float32 under a mask; infinite if an entry from `end` on (NaN) was read."""
    noise = torch.Generator(device).manual_seed(K)
    q, k, v = (torch.randn(1, *shape, head_dim, generator=noise, device=device).to(dtype)
               for shape in ((heads, K), (kv_heads, bucket), (kv_heads, bucket)))
    k[:, :, end:], v[:, :, end:] = torch.nan, torch.nan
    got = VarlenCausal.of(torch.full((1,), end, device=device), K, bucket).attend(q.transpose(1, 2), k, v).transpose(1, 2)
    seen = torch.ones(K, end, dtype=torch.bool, device=device).tril(end - K)
    want = F.scaled_dot_product_attention(q.float(), k[:, :, :end].float(), v[:, :, :end].float(), attn_mask=seen, enable_gqa=True)
    far = (got.float() - want).abs().max().nan_to_num(torch.inf)
    return float(far)
