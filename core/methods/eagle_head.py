"""The network of an EAGLE head: one decoder layer that reads a token and the target's hidden state before it.

Row i reads token i + 1 and the hidden state of position i, and predicts token i + 2. For drafted positions, which the target has not read
yet, the head's own output of the row before takes the place of the hidden state.

    EAGLE-1 (Li et al. 2024)   x = fc([embed(token); f]), f = the target's last hidden state after its final norm
                               out = layer(x) without its first norm                     logits = target's head(out)
    EAGLE-3 (Li et al. 2025)   x = [input_layernorm(embed(token)); hidden_norm(g)], g = fc(hidden states of three aux layers)
                               out = r + mlp(post_attention_layernorm(r)), r = g + attn(x)         logits = lm_head(norm(out))

B rows of the batch, K tokens, H hidden size, Ht the target's hidden size, R rows of the output head.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.formats.eagle import EagleTensors
from core.models.cache import GraphCacheView, KVCache
from core.models.decoder import Decoder, Layer
from core.models.linear import Linear


class EagleLayer(Layer):
    """The decoder's attention and MLP. x [B, K, 2H] = [embedding; hidden state] -> [B, K, H]."""

    def __init__(self, head: EagleTensors, **where) -> None:
        c = head.config
        super().__init__(c, **where)
        self.first, self.norm_before_residual = head.version == 1, head.norm_before_residual
        if self.first:
            self.input_norm = None
            self.fc = Linear(2 * c.hidden_size, c.hidden_size, "fc.bias" in head.tensors, **where)
        else:
            self.hidden_norm = nn.Parameter(torch.ones(c.hidden_size, **where))
            self.qkv = Linear(2 * c.hidden_size, (c.num_heads + 2 * c.num_kv_heads) * c.head_dim, c.qkv_bias, **where)

    def forward(self, x: Tensor, cache: KVCache | GraphCacheView | None, index: int, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        if self.first:
            g = x = self.fc(x)
        else:
            embedded, g = x.chunk(2, -1)
            normed = self.norm(g, self.hidden_norm)
            x = torch.cat([self.norm(embedded, self.input_norm), normed], -1)
            g = normed if self.norm_before_residual else g
        g = g + self.attention(x, cache, index, cos, sin, mask)
        gate, up = self.gate_up(self.norm(g, self.post_norm)).chunk(2, -1)
        return g + self.down(F.silu(gate) * up)


class EagleHead(Decoder):
    """A decoder of one EagleLayer; cache, masks, rotary tables and passes are the decoder's."""

    def __init__(self, head: EagleTensors, target: Decoder) -> None:
        """Takes the target's dtype and device, and its embedding and (EAGLE-1) output head where the file has none."""
        t, first = head.tensors, head.version == 1
        with torch.device("meta"):
            super().__init__(head.config, target.dtype, "meta", 1)
            self.layers = nn.ModuleList([EagleLayer(head)])
            self.fc = None if first else Linear(1, 1)
        self.target = [target]                      # in a list, so that it is no submodule
        self.first, self.aux_layers, self.token_map = first, head.aux_layers, head.token_map
        self.norm_output, self.input_norm, self.fc_norms = head.norm_output, None, []

        def take(*names: str) -> nn.Parameter:
            parts = [t[n].to(target.device, target.dtype) for n in names]
            return nn.Parameter(parts[0] if len(parts) == 1 else torch.cat(parts), requires_grad=False)

        self.embed = take("embed_tokens.weight") if "embed_tokens.weight" in t else target.embed
        layer = self.layers[0]
        layer.post_norm = take("post_attention_layernorm.weight")
        pairs = [(layer.qkv, ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")), (layer.o, ("self_attn.o_proj",)),
                 (layer.gate_up, ("mlp.gate_proj", "mlp.up_proj")), (layer.down, ("mlp.down_proj",))]
        if first:
            self.final_norm, self.head = None, None
            pairs.append((layer.fc, ("fc",)))
        else:
            self.final_norm = take("norm.weight")
            layer.input_norm, layer.hidden_norm = take("input_layernorm.weight"), take("hidden_norm.weight")
            pairs += [(self.fc, ("fc",)), (self.head, ("lm_head",))]
            if head.norm_before_fc:
                self.input_norm = take("input_norm.weight")
            if head.fc_norm:
                self.fc_norms = [take(f"fc_norm.{i}.weight") for i in range(len(head.aux_layers))]
        for linear, names in pairs:
            linear.weight = take(*(f"{n}.weight" for n in names))
            if linear.bias is not None:
                linear.bias = take(*(f"{n}.bias" for n in names))
        if self.config.qk_norm:
            layer.q_norm, layer.k_norm = take("self_attn.q_norm.weight"), take("self_attn.k_norm.weight")

    def fuse(self, hidden_states: dict[int, Tensor]) -> Tensor:
        """Hidden states of the target, [n, Ht] by aux layer -> the g (EAGLE-1: f) that rows read, [n, H]."""
        parts = [hidden_states[layer] for layer in self.aux_layers]
        if self.first:
            return self.target[0].norm(parts[0])
        if self.fc_norms:
            parts = [self._rms(x, w) for x, w in zip(parts, self.fc_norms)]
        joined = torch.cat(parts, -1)
        return self.fc(joined if self.input_norm is None else self._rms(joined, self.input_norm))

    def read(self, ids: Tensor, g: Tensor, cache: KVCache | GraphCacheView) -> Tensor:
        """The next K rows of a chain: ids [K], g [K, H] -> out [K, H]; appends K entries to the cache."""
        return self.run(ids[None], cache, hidden=self._rows(ids, g))[0][0]

    def branch(self, ids: Tensor, g: Tensor, cache: KVCache | GraphCacheView, depth: int, above: Tensor) -> Tensor:
        """One level of a tree: ids [K], g [K, H] of its nodes -> out [K, H]; appends K entries to the cache.

        depth: drafted levels above this one. above [K, drafted entries so far + K] bool: the drafted entries (the last ones in the
        cache) and nodes of this level that each node attends to.
        """
        K = ids.shape[0]
        start, base = cache.length, cache.length + K - above.shape[1]           # base: entries of the context, which all nodes attend to
        if isinstance(cache, GraphCacheView):
            cos, sin = self.rotary(cache, (cache.start + base + depth).expand(K))
            mask = cache.tree_mask(above, base, self.dtype)
        else:
            cos, sin = (t[base + depth].expand(K, 1, *t.shape[1:]) for t in self._rope_tables(start + K))
            mask = torch.zeros(K, start + K, dtype=self.dtype, device=self.device)
            mask[:, base:].masked_fill_(~above, -torch.inf)
        out = self.layers[0](self._rows(ids, g), cache, 0, cos, sin, self.per_group(mask))
        cache.length = start + K
        return out[0]

    def logits(self, hidden: Tensor) -> Tensor:
        """out [..., H] -> logits [..., R]."""
        return self.target[0].head(hidden) if self.first else super().logits(hidden)

    def feedback(self, out: Tensor) -> Tensor:
        """out [..., H] -> what the next row reads in place of the target's hidden state, [..., H]."""
        return self.norm(out) if self.norm_output else out

    def _rows(self, ids: Tensor, g: Tensor) -> Tensor:
        return torch.cat([F.embedding(ids, self.embed), g.to(self.dtype)], -1)[None]

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.config.rms_norm_eps)
