"""A packed decoder layer with exact attention: the fewest operators and the least Python around them, since at one token a pass these cost
a CPU as much as the matrix products do.

N = B * K tokens (B rows of the batch, K tokens of this pass), H hidden size, D head size, G query heads per kv head.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from core.models import exact_attention
from core.models.cache import GraphCacheView, KVCache
from core.models.norm import rms_norm

if TYPE_CHECKING:
    from core.models.decoder import Layer


class ExactLayer:
    """The same function as `layer`, whose linear layers it packs. qkv's outputs are put in the order of `exact_attention.paired`."""

    def __init__(self, layer: Layer, kernel: str) -> None:
        """Raises RuntimeError for a weight that the kernel does not take."""
        c = layer.c
        order = exact_attention.paired(c.num_heads, c.num_kv_heads, c.head_dim)
        with torch.no_grad():
            layer.qkv.weight.data = layer.qkv.weight[order]
            if layer.qkv.bias is not None:
                layer.qkv.bias.data = layer.qkv.bias[order]
            for norm in (layer.q_norm, layer.k_norm):
                if norm is not None:
                    norm.data = norm.unflatten(0, (2, -1)).transpose(0, 1).flatten()
        linears = layer.qkv, layer.o, layer.gate_up, layer.down
        for linear in linears:
            linear.pack(kernel)
        self.qkv, self.o, self.gate_up, self.down = (linear.kernel for linear in linears)
        self.layer, self.c, self.eps = layer, c, c.rms_norm_eps
        self.sizes = c.num_heads, 2 * c.num_kv_heads

    def __call__(self, x: Tensor, cache: KVCache | GraphCacheView | None, index: int, turns: Tensor, bias: Tensor | None) -> Tensor:
        """x [B, K, H] -> [B, K, H]. turns: factors of `exact_attention.turns` for the K positions; bias: additive float64 mask [G*K, cache
        entries read], None: every key; k and v go to layer `index` of the cache."""
        B, K, H = x.shape
        x = x.view(-1, H)
        return self.rest(x, self.attend(self.project(x, turns, B), cache, index, bias)).view(B, K, H)

    def project(self, x: Tensor, turns: Tensor, rows: int = 1) -> Tensor:
        """x [N, H], turns [N / rows, heads, D/2] -> rotated queries, keys and values in whole steps, [rows, N / rows, heads, D] float32."""
        c = self.c
        heads = self.qkv.rows(rms_norm(x, self.layer.input_norm, self.eps)).float().view(rows, turns.shape[0], -1, c.head_dim)
        if c.qk_norm:
            q, k, v = heads.split([c.num_heads, c.num_kv_heads, c.num_kv_heads], 2)
            heads = torch.cat([rms_norm(q, self.layer.q_norm, self.eps), rms_norm(k, self.layer.k_norm, self.eps), v], 2)
        pairs = torch.view_as_complex(heads.view(*heads.shape[:3], -1, 2))
        return torch.view_as_real(pairs * turns).round_().view(heads.shape)

    def attend(self, steps: Tensor, cache: KVCache | GraphCacheView | None, index: int, bias: Tensor | None) -> Tensor:
        """steps [B, K, heads, D] of `project` -> what `o` reads, [N, query heads * D]."""
        c, (B, K, _, D) = self.c, steps.shape
        q, kv = steps.split(self.sizes, 2)
        kv = kv.view(B, K, 2, -1, D).permute(2, 0, 3, 1, 4)                                 # [2, B, kv heads, K, D]
        k, v = kv.double() if cache is None else cache.write_both(index, kv)                # which converts
        q = q.view(B, K, c.num_kv_heads, -1, D).permute(0, 2, 3, 1, 4)                      # the G query heads of a kv head as rows of one attention
        q = q.to(torch.float64, memory_format=torch.contiguous_format).view(B * c.num_kv_heads, -1, D)
        out = exact_attention.attend(q, k.flatten(0, 1), v.flatten(0, 1), bias)
        out = out.view(B, c.num_kv_heads, -1, K, D).permute(0, 3, 1, 2, 4)
        return out.to(self.o.activations, memory_format=torch.contiguous_format).view(B * K, -1)

    def rest(self, x: Tensor, heads: Tensor) -> Tensor:
        """x [N, H] and what `attend` gave -> the layer's output [N, H]."""
        x = x + self.o.rows(heads)
        gate, up = self.gate_up.rows(rms_norm(x, self.layer.post_norm, self.eps)).chunk(2, -1)
        return x + self.down.rows(F.silu(gate) * up)
