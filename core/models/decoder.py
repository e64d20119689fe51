"""The project's own compact Llama-family decoder: Llama, Mistral, Qwen2, Qwen3, SmolLM.

Shapes: B rows of the batch, K tokens of this pass, H hidden size, D head size, G query heads per kv head, V vocabulary. A pass
appends K entries to the cache and never reads entries from `cache.length` on, so setting that number rolls the cache back.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models import exact_attention, flash, kernels, rope
from core.models.cache import GraphCacheView, KVCache
from core.models.config import DecoderConfig
from core.models.exact_layer import ExactLayer
from core.models.flash import CausalLowerRight, VarlenCausal
from core.models.linear import Linear
from core.models.norm import double_norms, rms_norm

# a Tensor is an additive mask [G*K, cache entries read]; None: causal over this pass alone, or K = 1
Mask = Tensor | CausalLowerRight | VarlenCausal | None


@dataclass
class PassShape:
    """Positions and tree mask of one pass over K tokens that form a tree (made by core.sampling.tree)."""
    depth: Tensor       # [K] int64: position of each token minus the cache's length
    tree_mask: Tensor   # [K, K] bool: the row's token attends to the column's (itself and its ancestors)


class Layer(nn.Module):
    """One decoder layer, pre-norm: attention, then the gated MLP. x [B, K, H] -> [B, K, H]."""

    def __init__(self, c: DecoderConfig, **where) -> None:
        super().__init__()
        self.c = c
        heads = c.num_heads + 2 * c.num_kv_heads
        self.input_norm = nn.Parameter(torch.ones(c.hidden_size, **where))
        self.qkv = Linear(c.hidden_size, heads * c.head_dim, c.qkv_bias, **where)
        self.o = Linear(c.num_heads * c.head_dim, c.hidden_size, c.o_bias, **where)
        self.post_norm = nn.Parameter(torch.ones(c.hidden_size, **where))
        self.gate_up = Linear(c.hidden_size, 2 * c.intermediate_size, c.mlp_bias, **where)
        self.down = Linear(c.intermediate_size, c.hidden_size, c.mlp_bias, **where)
        self.q_norm = nn.Parameter(torch.ones(c.head_dim, **where)) if c.qk_norm else None
        self.k_norm = nn.Parameter(torch.ones(c.head_dim, **where)) if c.qk_norm else None

    def forward(self, x: Tensor, cache: KVCache | GraphCacheView | None, index: int, cos: Tensor, sin: Tensor, mask: Mask) -> Tensor:
        x = x + self.attention(self.norm(x, self.input_norm), cache, index, cos, sin, mask)
        gate, up = self.gate_up(self.norm(x, self.post_norm)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(x, weight, self.c.rms_norm_eps)

    def attention(self, x: Tensor, cache: KVCache | GraphCacheView | None, index: int, cos: Tensor, sin: Tensor, mask: Mask) -> Tensor:
        """x [B, K, H] -> [B, K, H]. cos, sin [K, 1, 2, D/2] of core.models.rope; k and v go to layer `index` of the cache."""
        c, (B, K, _) = self.c, x.shape
        group = c.num_heads // c.num_kv_heads
        heads = self.qkv(x).to(x.dtype).view(B, K, -1, c.head_dim)                         # query heads, then key heads, then value heads
        qk, v = heads.split([c.num_heads + c.num_kv_heads, c.num_kv_heads], 2)
        if c.qk_norm:
            q, k = qk.split([c.num_heads, c.num_kv_heads], 2)
            qk = torch.cat([self.norm(q, self.q_norm), self.norm(k, self.k_norm)], 2)
        halves = qk.unflatten(-1, (2, c.head_dim // 2))                           # rotate-half (Su et al. 2021) as a flip of the two halves
        qk = torch.addcmul(halves * cos, halves.flip(-2), sin).flatten(-2)
        q, k = qk.split([c.num_heads, c.num_kv_heads], 2)
        k, v = k.transpose(1, 2), v.transpose(1, 2)                               # [B, kv heads, K, D]
        if cache is not None:
            k, v = cache.write(index, k, v)
        if isinstance(mask, VarlenCausal):
            return self.o(mask.attend(q, k, v).reshape(B, K, -1))
        if K > 1 and (mask is None or isinstance(mask, CausalLowerRight)):
            bias = None if mask is None else mask.bias
            out = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=bias, is_causal=bias is None, enable_gqa=group > 1)
            return self.o(out.transpose(1, 2).reshape(B, K, -1))
        # grouped-query attention: the G query heads of a kv head become rows of one attention, so keys are read once and never repeated
        return self.o(self.unfold(F.scaled_dot_product_attention(self.fold(q), k, v, attn_mask=mask), K))

    def fold(self, q: Tensor) -> Tensor:
        """[B, K, query heads, D] -> [B, kv heads, G*K, D]: the query heads of a kv head as rows of one attention."""
        return q.unflatten(2, (self.c.num_kv_heads, -1)).permute(0, 2, 3, 1, 4).flatten(2, 3)

    def unfold(self, out: Tensor, K: int) -> Tensor:
        """The other way round: [B, kv heads, G*K, D] -> [B, K, query heads * D]."""
        B, kv, _, D = out.shape
        return out.view(B, kv, -1, K, D).permute(0, 3, 1, 2, 4).reshape(B, K, -1)


class Decoder(nn.Module):
    """Embedding, layers, final norm and head [head size, H]. core.checkpoints.weights builds it and fills in the weights."""

    def __init__(self, config: DecoderConfig, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu",
                 head_size: int | None = None) -> None:
        super().__init__()
        c, where = config, {"dtype": dtype, "device": device}
        self.config = c
        self.embed = nn.Parameter(torch.empty(c.vocab_size, c.hidden_size, **where))
        self.layers = nn.ModuleList(Layer(c, **where) for _ in range(c.num_layers))
        self.final_norm = nn.Parameter(torch.ones(c.hidden_size, **where))
        self.head = Linear(c.hidden_size, head_size or c.vocab_size, **where)
        if c.tied_head and head_size is None:
            self.head.weight = self.embed
        self.kernel: str | None = None          # of its packed linear layers (core.models.kernels); None: torch's own product
        self.exact_layers: list[ExactLayer] = []    # with exact attention, so that with a row-exact kernel every row's result is its own
        self._rope: tuple[Tensor, Tensor] | None = None
        self._causal_mask: Tensor | None = None

    @property
    def device(self) -> torch.device:
        return self.embed.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embed.dtype

    def new_cache(self, capacity: int, rows: int = 1) -> KVCache:
        c = self.config
        return KVCache(c.num_layers, rows, c.num_kv_heads, capacity, c.head_dim, self.mask_dtype, self.device)

    @property
    def exact(self) -> bool:
        """Whether attention is exact."""
        return bool(self.exact_layers)

    @property
    def mask_dtype(self) -> torch.dtype:
        """Of masks, and of the cache's entries."""
        return torch.float64 if self.exact else self.dtype

    @property
    def arithmetic(self) -> str:
        """What --dtype calls it."""
        return self.kernel or str(self.dtype).removeprefix("torch.")

    @property
    def draft_kernel(self) -> str | None:
        """The kernel for the linear layers of what drafts for this target. A draft step reads all its weights, which the target's pass has
        driven out of the CPU's caches, so 8 bits where the target has 4 or 8: acceptance falls by a hundredth, a step is a third
        faster. None: torch's own product."""
        if self.kernel in (kernels.W4A16.name, kernels.W8A16.name):
            return kernels.W8A16.name
        return self.kernel

    @property
    def row_exact(self) -> bool:
        """Whether a pass over k tokens gives each row the bits of passes over one."""
        return self.exact and self.kernel in kernels.ROW_EXACT

    def pack(self, kernel: str, exact: bool = False) -> None:
        """Hand every linear layer to this CPU kernel (core.models.kernels). Inference only: training is not possible afterwards.

        exact: attention is exact, too. Raises RuntimeError for a weight that the kernel does not take.
        """
        self.exact_layers = [ExactLayer(layer, kernel) for layer in self.layers] if exact else []
        for module in self.modules():
            if isinstance(module, Linear):
                head = module is self.head
                # the output head reads an embedding, which no format keeps in 4 bits without loss: 8 there
                module.pack("w8a16" if head and kernel == "w4a16" else kernel, keep_weight=head and module.weight is self.embed)
        self.kernel = kernel
        if self.dtype == torch.float32 and self.device.type == "cpu":
            double_norms(self)

    def forward(self, ids: Tensor, cache: KVCache | None = None, shape: PassShape | None = None) -> Tensor:
        """ids [B, K] -> logits [B, K, head size] in the model's dtype; appends K entries to the cache."""
        return self.logits(self.run(ids, cache, shape)[0])

    def logits(self, hidden: Tensor) -> Tensor:
        """Final norm and head: hidden states [..., H] of the last layer -> [..., head size]."""
        return self.head(self.norm(hidden))

    def norm(self, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self.final_norm, self.config.rms_norm_eps)

    def run(self, ids: Tensor, cache: KVCache | GraphCacheView | None = None, shape: PassShape | None = None, *, hidden: Tensor | None = None,
            layers: Sequence[int] | None = None, aux_layers: Sequence[int] = (), advance: bool = True) -> tuple[Tensor, dict[int, Tensor]]:
        """The layers alone, without final norm and head.

        ids [B, K]; hidden [B, K, H]: start from these hidden states instead of the embeddings. layers: which to run, in order
        (default all). advance=False leaves the cache's length, so that the remaining layers can run in a later call.

        Returns the hidden states [B, K, H] after the last of `layers` and, for each layer in `aux_layers`, its input [B, K, H]
        (number of layers: the output of the last one).
        """
        K, start = ids.shape[1], cache.length if cache is not None else 0
        if isinstance(cache, GraphCacheView):
            cos, sin, mask = self._in_view(cache, K, shape)
        else:
            positions = start + shape.depth if shape is not None else slice(start, start + K)
            cos, sin = (t[positions].unsqueeze(1) for t in self._rope_tables(start + K))  # [K, 1, 2, D/2]
            mask = self._mask(start, K, shape)
        if self.exact:
            turns = exact_attention.turns(cos, sin, self.config.num_heads, self.config.num_kv_heads)
        x = F.embedding(ids, self.embed) if hidden is None else hidden
        hidden_states: dict[int, Tensor] = {}
        for i in range(self.config.num_layers) if layers is None else layers:
            if i in aux_layers:
                hidden_states[i] = x
            x = self.exact_layers[i](x, cache, i, turns, mask) if self.exact_layers else self.layers[i](x, cache, i, cos, sin, mask)
        if self.config.num_layers in aux_layers:
            hidden_states[self.config.num_layers] = x
        if cache is not None and advance:
            cache.length = start + K
        return x, hidden_states

    def _in_view(self, view: GraphCacheView, K: int, shape: PassShape | None) -> tuple[Tensor, Tensor, Mask]:
        """cos, sin and mask of a captured pass over K tokens, whose position only the device knows."""
        c, chain = self.config, shape is None
        positions = view.slots(K) if chain else view.start + view.length + shape.depth
        sliding = c.sliding_window if c.sliding_window is not None and view.bucket > c.sliding_window else None
        if chain and sliding is None and view.rows == 1 and not self.flash_refusal:
            return *self.rotary(view, positions), VarlenCausal.of(view.start + (view.length + K), K, view.bucket)
        if chain:
            mask = view.mask(positions, self.mask_dtype, sliding)
        else:
            mask = view.tree_mask(shape.tree_mask, view.length, self.mask_dtype, shape.depth, sliding)
        return *self.rotary(view, positions), self.per_group(mask)

    @property
    def flash_refusal(self) -> str:
        """Why captured passes over a chain need a mask in memory; "" where flash attention serves them without one."""
        c = self.config
        return flash.refusal(self.device, self.dtype, c.num_heads, c.num_kv_heads, c.head_dim)

    def rotary(self, view: GraphCacheView, positions: Tensor) -> tuple[Tensor, Tensor]:
        """cos and sin [K, 1, 2, D/2] of positions [K], for a captured pass."""
        view.tables = self._rope_tables(view.bucket)
        return tuple(t.index_select(0, positions).unsqueeze(1) for t in view.tables)

    def per_group(self, mask: Tensor) -> Tensor:
        """A mask [K, ...] repeated for each of the G query heads of a kv head: [G*K, ...]."""
        group = self.config.num_heads // self.config.num_kv_heads
        return mask.repeat(group, 1) if group > 1 else mask

    def _rope_tables(self, length: int) -> tuple[Tensor, Tensor]:
        if self._rope is None or self._rope[0].shape[0] < length or self._rope[0].dtype != self.dtype:
            size = max(length, min(self.config.max_positions, max(4096, 2 * length)))
            self._rope = rope.tables(self.config, size, self.dtype, self.device)
        return self._rope

    def _mask(self, start: int, K: int, shape: PassShape | None) -> Mask:
        """The mask of a direct pass: additive [G*K, start + K], or CausalLowerRight or None where attention needs no mask in memory."""
        window = self.config.sliding_window
        sliding = window is not None and start + K > window
        if shape is None and not sliding and (K == 1 or (start == 0 and not self.exact)):
            return None
        if shape is None and not sliding:
            if flash.supports(self.device, self.dtype):
                return CausalLowerRight.of(K, start + K)
            mask = self._causal(start, K)
        else:
            query = start + (shape.depth if shape is not None else torch.arange(K, device=self.device))
            key = torch.cat([torch.arange(start, device=self.device), query])
            seen = key <= query[:, None]
            if shape is not None:
                seen[:, start:] = shape.tree_mask
            if window is not None:
                seen &= key > query[:, None] - window
            mask = torch.zeros(seen.shape, dtype=self.mask_dtype, device=self.device).masked_fill_(~seen, -torch.inf)
        return self.per_group(mask)

    def _causal(self, start: int, K: int) -> Tensor:
        """The causal mask [K, start + K]: a slice of one large mask kept for all rounds, since entry (i, j) depends on j - i - start alone."""
        large = self._causal_mask
        if large is None or large.shape[0] < K or large.shape[1] - large.shape[0] < start or large.dtype != self.mask_dtype:
            rows = max(16, K)
            past = max(2 * start, 1024)
            i, j = torch.arange(rows, device=self.device), torch.arange(past + rows, device=self.device)
            large = torch.zeros(rows, past + rows, dtype=self.mask_dtype, device=self.device)
            self._causal_mask = large.masked_fill_(j > i[:, None] + past, -torch.inf)
        past = self._causal_mask.shape[1] - self._causal_mask.shape[0]
        return self._causal_mask[:K, past - start:past + K]
