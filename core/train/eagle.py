"""Training objective of an EAGLE-3 head (Li et al. 2025), saved in the authors' layout.

    g_0 = fc(three of the target's hidden states);  step s:  x = [input_layernorm(embed(token)); hidden_norm(g)]
    g' = hidden_norm(g) + attn(x)  (norm_before_residual);  g'' = g' + mlp(post_attention_layernorm(g'));  logits = lm_head(norm(g''))

Position t reads the target's hidden states at t and token t + 1, and predicts token t + 2. In the paper's training-time test, the head at
step s reads its own g'' in place of the target's hidden states, as it does when it drafts the s-th token after the first. Attention then
reads keys of two kinds: for the last s positions those of this rollout, for positions before them those made from the target.
"""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.draft_format import llama_fields, save_folder
from core.models import rope
from core.models.config import DecoderConfig
from core.models.decoder import Decoder
from core.train.batches import Batch
from core.train.loss import head_loss
from core.train.score import Score
from core.train.start import tuned_lens

DEPTH = 4           # steps that are measured
STEPS = 3           # steps that are trained
STEP_WEIGHT = 0.8   # weight of a step's loss, relative to the step before, since later steps are reached less often


class EagleModule(nn.Module):
    """The tensors of the published file, with q, k, v and gate, up separate as there. H hidden size, T number of aux layers, D head size.

    A few entries of a target's hidden states are thousands of times larger than the rest, and any step on `fc` would be far too large for
    them. So in training the hidden states are first multiplied by `tap_scale` [T*H] (its name in existing checkpoints).
    """

    def __init__(self, config: DecoderConfig, num_aux_layers: int, rows: int, norm_before_residual: bool = True) -> None:
        super().__init__()
        c, h = config, config.hidden_size
        q, kv = c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim

        def matrix(out: int, n_in: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(out, n_in))

        self.config, self.norm_before_residual = c, norm_before_residual
        self.fc = matrix(h, num_aux_layers * h)           # for the scaled hidden states; `save` multiplies it by the scale
        self.register_buffer("tap_scale", torch.ones(num_aux_layers * h))
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = matrix(q, 2 * h), matrix(kv, 2 * h), matrix(kv, 2 * h), matrix(h, q)
        self.gate_proj, self.up_proj, self.down_proj = matrix(c.intermediate_size, h), matrix(c.intermediate_size, h), matrix(h, c.intermediate_size)
        self.input_layernorm, self.hidden_norm = nn.Parameter(torch.ones(h)), nn.Parameter(torch.ones(h))
        self.post_attention_layernorm, self.norm = nn.Parameter(torch.ones(h)), nn.Parameter(torch.ones(h))
        self.lm_head = matrix(rows, h)

    def rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, self.config.rms_norm_eps)

    def qkv(self, embedded: Tensor, g: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """embedded, g [B, L, H] -> q [B, heads, L, D], k and v [B, kv heads, L, D], rotated."""
        c, (B, L, _) = self.config, g.shape
        x = torch.cat([self.rms(embedded, self.input_layernorm), self.rms(g, self.hidden_norm)], -1)
        q, k, v = (F.linear(x, w).view(B, L, -1, c.head_dim) for w in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (_rotate(t, cos, sin) for t in (q, k))
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def finish(self, g: Tensor, attended: Tensor) -> Tensor:
        """The rest of the layer: g [B, L, H] and attention's output [B, heads, L, D] -> output before the final norm, [B, L, H]."""
        g = (self.rms(g, self.hidden_norm) if self.norm_before_residual else g) + F.linear(attended.transpose(1, 2).flatten(2), self.o_proj)
        x = self.rms(g, self.post_attention_layernorm)
        return g + F.linear(F.silu(F.linear(x, self.gate_proj)) * F.linear(x, self.up_proj), self.down_proj)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [B, L, heads, D]; cos, sin [L, 1, 2, D/2]."""
    halves = x.unflatten(-1, (2, x.shape[-1] // 2))
    return torch.addcmul(halves * cos, halves.flip(-2), sin).flatten(-2)


def rollout_attention(q: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
    """Attention of rollout step s = len(keys) - 1 for all positions at once: q [B, heads, L, D], keys[j] [B, kv heads, L, D].

    Row t is step s of the round that began at position t - s (rows t < s belong to no round and do not count). It attends to keys[0] up
    to t - s, then to keys[1] at t - s + 1, ..., keys[s] at t. So keys[0] give a causal product shifted by s, and each later step
    adds one score per row.
    """
    s, (_, heads, L, D) = len(keys) - 1, q.shape
    group = heads // keys[0].shape[1]
    scale = D ** -0.5

    def wide(t: Tensor) -> Tensor:
        return t.repeat_interleave(group, 1) if group > 1 else t

    if s == 0:
        return F.scaled_dot_product_attention(q, wide(keys[0]), wide(values[0]), is_causal=True)
    scores = (q @ wide(keys[0]).transpose(-1, -2)).float() * scale
    i = torch.arange(L, device=q.device)
    scores = scores.masked_fill(i[None, :] > (i[:, None] - s).clamp(min=0), -torch.inf)
    own = []
    for j in range(1, s + 1):       # row t attends to keys[j] at t - s + j
        k = wide(keys[j]).roll(s - j, 2)
        own.append((q * k).sum(-1, keepdim=True).float() * scale)
    probs = torch.cat([scores, *own], -1).softmax(-1).to(q.dtype)
    out = probs[..., :L] @ wide(values[0])
    for j in range(1, s + 1):
        out = out + probs[..., L + j - 1:L + j] * wide(values[j]).roll(s - j, 2)
    return out


class EagleObjective(nn.Module):
    """Trains all of `head`. token_ids [V]: the ids of lm_head's rows."""

    depth = DEPTH

    def __init__(self, head: EagleModule, token_ids: Tensor, target: Decoder, aux_layers: list[int], cached: list[int]) -> None:
        """aux_layers: the layers whose inputs the head reads; cached: the layers of the batches' hidden states, in their order."""
        super().__init__()
        self.head, self.token_ids, self.target_embed, self.aux_layers = head, token_ids.to(target.device), target.embed.detach(), aux_layers
        self.columns = [cached.index(layer) for layer in aux_layers]

    def trained(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """(matrices, all other parameters)."""
        h = self.head
        matrices = [h.fc, h.q_proj, h.k_proj, h.v_proj, h.o_proj, h.gate_proj, h.up_proj, h.down_proj]
        return matrices, [h.input_layernorm, h.hidden_norm, h.post_attention_layernorm, h.norm, h.lm_head]

    def steps(self, batch: Batch, count: int) -> list[Tensor]:
        """For each step s the output [B, L - 1, H] after the norm. Its row t predicts token t + 2 from the target's hidden states up to t - s."""
        h = self.head
        hidden_states = batch.hidden_states[:, :-1, self.columns].flatten(2).float()
        embedded = F.embedding(batch.ids[:, 1:], self.target_embed).float()
        cos, sin = (t.unsqueeze(1) for t in rope.tables(h.config, hidden_states.shape[1], torch.float32, hidden_states.device))
        g = F.linear(hidden_states * h.tap_scale, h.fc).float()
        keys: list[Tensor] = []
        values: list[Tensor] = []
        out = []
        for s in range(count):
            if s:       # row t now reads the last step's output at t - 1
                g = F.pad(g[:, :-1], (0, 0, 1, 0))
            q, k, v = h.qkv(embedded, g, cos, sin)
            keys.append(k)
            values.append(v)
            g = h.finish(g, rollout_attention(q, keys, values)).float()
            out.append(h.rms(g, h.norm))
        return out

    def loss(self, batch: Batch, dtype: torch.dtype, kl: float, tv: float) -> Tensor:
        total, weights = batch.hidden_states.new_zeros((), dtype=torch.float32), 0.0
        for s, hidden in enumerate(self.steps(batch, STEPS)):
            keep = _counted(batch, s)
            weight = STEP_WEIGHT ** s
            rows, probs = batch.rows[:, 1:][keep], batch.probs[:, 1:][keep]
            total = total + weight * head_loss(hidden[keep], self.head.lm_head, rows, probs, kl=kl, tv=tv, dtype=dtype)
            weights += weight
        return total / weights

    @torch.no_grad()
    def calibrate(self, batches: Iterable[Batch], target: Decoder) -> None:
        """Fit the initial lm_head to the outputs of the copied layer (core.train.start.tuned_lens)."""
        pairs = []
        for b in batches:
            keep = _counted(b, 0)
            pairs.append((self.steps(b, 1)[0][keep], target.norm(b.hidden_states[:, 1:, -1][keep].to(target.dtype))))
        lens = tuned_lens(torch.cat([h for h, _ in pairs]), torch.cat([w for _, w in pairs]))
        self.head.lm_head.copy_(self.head.lm_head @ lens)

    def measure(self, batch: Batch, target_dists: list[Tensor], score: Score) -> None:
        """Add held-out texts to `score`. A round from t drafts tokens t + 2, t + 3, ...: its step s is row t + s. Shapes as in draft.py."""
        outputs = self.steps(batch, DEPTH)
        for b, p in enumerate(target_dists):
            keep = batch.counts[b, 1:].clone()
            p = p[1:] if bool(batch.counts[b, 0]) else p
            n = int(keep.sum())
            first = int(keep.int().argmax())
            agree, overlap = [], []
            for hidden in outputs:
                z = F.linear(hidden[b, first:first + n], self.head.lm_head).float()
                agree.append((self.token_ids[z.argmax(-1)] == batch.best[b, 1:][first:first + n]).double())
                overlap.append(torch.minimum(p, z.softmax(-1)).sum(-1).double())
            if n >= DEPTH:
                m = n - DEPTH + 1
                score.add(*(torch.stack([rows[s:s + m] for s, rows in enumerate(x)]) for x in (agree, overlap)))

    def save(self, folder: Path) -> None:
        """The published EAGLE-3 folder: `midlayer.*`, fc, norm, lm_head, d2t (offsets), t2d (mask)."""
        h, c = self.head, self.head.config
        ids = self.token_ids.cpu()
        tensors = {f"midlayer.self_attn.{n}.weight": getattr(h, n) for n in ("q_proj", "k_proj", "v_proj", "o_proj")}
        tensors |= {f"midlayer.mlp.{n}.weight": getattr(h, n) for n in ("gate_proj", "up_proj", "down_proj")}
        tensors |= {f"midlayer.{n}.weight": getattr(h, n) for n in ("input_layernorm", "hidden_norm", "post_attention_layernorm")}
        tensors |= {"fc.weight": h.fc * h.tap_scale, "norm.weight": h.norm, "lm_head.weight": h.lm_head, **vocabulary_maps(ids, c.vocab_size)}
        config = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", **llama_fields(c), "draft_vocab_size": len(ids),
                  "target_hidden_size": self.target_embed.shape[1], "norm_before_residual": h.norm_before_residual, "torch_dtype": "bfloat16",
                  "eagle_config": {"eagle_aux_hidden_state_layer_ids": self.aux_layers, "use_aux_hidden_state": True, "norm_before_fc": False}}
        save_folder(folder, config, tensors)


def _counted(batch: Batch, s: int) -> Tensor:
    """[B, L - 1] bool: rows t whose token t + 2 the target wrote, and whose round at step s began inside the text."""
    keep = batch.counts[:, 1:].clone()
    keep[:, :s] = False
    return keep


def vocabulary_maps(token_ids: Tensor, vocab_size: int) -> dict[str, Tensor]:
    """d2t[row] = id - row (an offset, not the id); t2d[id] = whether the draft has a row for it."""
    t2d = torch.zeros(vocab_size, dtype=torch.bool)
    t2d[token_ids] = True
    return {"d2t": token_ids - torch.arange(len(token_ids)), "t2d": t2d}
