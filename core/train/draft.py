"""Training objective of a small draft model: predict the target's distribution from token ids alone, at every position that the target wrote."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.draft_format import TOKEN_IDS, save_draft
from core.models.decoder import Decoder
from core.train.batches import Batch
from core.train.loss import head_loss
from core.train.score import Score, rounds
from core.train.start import tuned_lens

DEPTH = 4           # drafted tokens a round in the held-out measurement


class DraftObjective(nn.Module):
    """Trains the layers, final norm and head of `decoder`; the embedding is the target's. token_ids [V]: the ids of the head's rows."""

    depth = DEPTH

    def __init__(self, decoder: Decoder, token_ids: Tensor, target: Decoder) -> None:
        super().__init__()
        self.decoder, self.token_ids, self.target_embed = decoder, token_ids.to(target.device), target.embed.detach()

    @torch.no_grad()
    def calibrate(self, batches: Iterable[Batch], target: Decoder) -> None:
        """Fit the initial head to the outputs of the copied layers (core.train.start.tuned_lens), which differ from what it was trained on."""
        pairs = [(self.hidden(b)[b.counts], target.norm(b.hidden_states[b.counts][:, -1].to(target.dtype))) for b in batches]
        lens = tuned_lens(torch.cat([h for h, _ in pairs]), torch.cat([w for _, w in pairs]))
        self.decoder.head.weight.copy_(self.decoder.head.weight @ lens)

    def trained(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """(hidden matrices, all other parameters): Muon trains only the former."""
        matrices = [p for p in self.decoder.layers.parameters() if p.ndim == 2]
        return matrices, [*(p for p in self.decoder.layers.parameters() if p.ndim == 1), self.decoder.final_norm, self.decoder.head.weight]

    def hidden(self, batch: Batch) -> Tensor:
        """Outputs [B, L, H] after the final norm. The residual stream stays in float32, matrix products are autocast."""
        x = F.embedding(batch.ids, self.target_embed).float()
        return self.decoder.norm(self.decoder.run(batch.ids, hidden=x)[0])

    def loss(self, batch: Batch, dtype: torch.dtype, kl: float, tv: float) -> Tensor:
        keep = batch.counts
        return head_loss(self.hidden(batch)[keep], self.decoder.head.weight, batch.rows[keep], batch.probs[keep], kl=kl, tv=tv, dtype=dtype)

    def measure(self, batch: Batch, target_dists: list[Tensor], score: Score) -> None:
        """Add held-out texts to `score`. target_dists: by text [positions that count, V], the target's probabilities of the draft's vocabulary."""
        hidden = self.hidden(batch)
        for b, p in enumerate(target_dists):
            keep = batch.counts[b]
            z = self.decoder.head(hidden[b, keep]).float()
            agree = self.token_ids[z.argmax(-1)] == batch.best[b, keep]
            overlap = torch.minimum(p, z.softmax(-1)).sum(-1)
            if len(agree) >= DEPTH:
                score.add(rounds(agree.double(), DEPTH), rounds(overlap.double(), DEPTH))

    def save(self, folder: Path) -> None:
        """Write the folder of core.checkpoints.draft_format."""
        c, d = self.decoder.config, self.decoder
        tensors = {"model.norm.weight": d.final_norm, TOKEN_IDS: self.token_ids, "lm_head.weight": d.head.weight}
        for i, layer in enumerate(d.layers):
            tensors |= layer_tensors(layer, f"model.layers.{i}.")
        save_draft(folder, c, tensors, self.target_embed)


def layer_tensors(layer: nn.Module, at: str) -> dict[str, Tensor]:
    """A layer's tensors, fused matrices split, under transformers' names with the prefix `at`."""
    c = layer.c
    q, k, v = layer.qkv.weight.split([c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim, c.num_kv_heads * c.head_dim])
    gate, up = layer.gate_up.weight.chunk(2)
    return {at + "self_attn.q_proj.weight": q, at + "self_attn.k_proj.weight": k, at + "self_attn.v_proj.weight": v,
            at + "self_attn.o_proj.weight": layer.o.weight, at + "mlp.gate_proj.weight": gate, at + "mlp.up_proj.weight": up,
            at + "mlp.down_proj.weight": layer.down.weight, at + "input_layernorm.weight": layer.input_norm,
            at + "post_attention_layernorm.weight": layer.post_norm}
