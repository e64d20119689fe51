"""Training objective of Medusa heads (Cai et al. 2024) on the frozen target, saved in vLLM's layout with one output matrix for all heads.

    head i at position t:  x = h_t + SiLU(W_i h_t + b_i),  logits = lm_head(x)  predict token t + 2 + i

h_t is the target's last hidden state after its final norm, from which the target itself predicts token t + 1. W_i starts at 0, so that
every head starts with the target's own next-token prediction.
"""
from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.draft_format import save_folder
from core.models.decoder import Decoder
from core.train.batches import Batch
from core.train.loss import head_loss
from core.train.score import Score

HEADS = 4
RANKS = 8           # guesses of a head whose accuracy is saved, for `--tree auto`
HEAD_WEIGHT = 0.8   # weight of a head's loss, relative to the head before (Cai et al. 2024, sec. 2.2.1)


class MedusaObjective(nn.Module):
    """token_ids [V]: the ids of the output matrix's rows."""

    def __init__(self, target: Decoder, token_ids: Tensor, heads: int = HEADS) -> None:
        super().__init__()
        self.depth = heads
        self.token_ids, self.target = token_ids.to(target.device), [target]       # in a list, so that the target is no submodule
        size, device = target.config.hidden_size, target.device
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(size, size, device=device)) for _ in range(heads))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(size, device=device)) for _ in range(heads))
        self.lm_head = nn.Parameter(target.head.weight.detach()[token_ids].float())
        self.score: Score | None = None             # of the last measurement; its "ranks" [heads, RANKS] count right guesses

    def trained(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        return list(self.weights), [*self.biases, self.lm_head]

    def outputs(self, batch: Batch) -> list[Tensor]:
        """For each head its output before lm_head, [B, L, H]."""
        target = self.target[0]
        h = target.norm(batch.hidden_states[:, :, -1].to(target.dtype)).float()
        return [h + F.silu(F.linear(h, w) + b).float() for w, b in zip(self.weights, self.biases)]

    def loss(self, batch: Batch, dtype: torch.dtype, kl: float, tv: float) -> Tensor:
        total, weights = batch.hidden_states.new_zeros((), dtype=torch.float32), 0.0
        for i, x in enumerate(self.outputs(batch)):
            keep = batch.counts[:, i + 1:]          # positions t whose token t + 2 + i the target wrote
            weight = HEAD_WEIGHT ** i
            total = total + weight * head_loss(x[:, :-(i + 1)][keep], self.lm_head, batch.rows[:, i + 1:][keep], batch.probs[:, i + 1:][keep],
                                               kl=kl, tv=tv, dtype=dtype)
            weights += weight
        return total / weights

    def measure(self, batch: Batch, target_dists: list[Tensor], score: Score) -> None:
        """Add held-out texts to `score`: head i at t, compared with the target's distribution of token t + 2 + i. Shapes as in draft.py."""
        outputs, self.score = self.outputs(batch), score
        for b, p in enumerate(target_dists):
            first, n = int(batch.counts[b].int().argmax()), int(batch.counts[b].sum())
            m = n - self.depth
            if m < 1:
                continue
            agree, overlap, ranks = [], [], []
            for i, x in enumerate(outputs):
                z = F.linear(x[b, first:first + m], self.lm_head).float()
                guesses = self.token_ids[z.topk(min(RANKS, z.shape[-1])).indices]
                right = (guesses == batch.best[b, first + i + 1:first + i + 1 + m, None]).double()
                agree.append(right[:, 0])
                ranks.append(right.sum(0).cpu())
                overlap.append(torch.minimum(p[i + 1:i + 1 + m], z.softmax(-1)).sum(-1).double())
            score.add(torch.stack(agree), torch.stack(overlap))
            score.sums["ranks"] = score.sums.get("ranks", 0) + torch.stack(ranks)

    def save(self, folder: Path) -> None:
        """Write vLLM's Medusa folder, with the measured `head_accuracy` if there is one."""
        c, heads = self.target[0].config, len(self.weights)
        tensors: dict[str, Tensor] = {}
        for i, (w, b) in enumerate(zip(self.weights, self.biases)):
            tensors |= {f"blocks.{i}.layers.0.weight": w, f"blocks.{i}.layers.0.bias": b}
        tensors |= {"lm_heads.0.weight": self.lm_head, "token_map": self.token_ids}
        config = {"architectures": ["MedusaModel"], "model_type": "medusa", "hidden_size": c.hidden_size, "vocab_size": c.vocab_size,
                  "truncated_vocab_size": len(self.token_ids), "num_heads": heads, "num_hidden_layers": 1, "medusa_fc_bias": True,
                  "original_lm_head": True, "torch_dtype": "bfloat16"}
        if self.score is not None and "ranks" in self.score.sums:
            shares = self.score.sums["ranks"] / self.score.positions
            config["head_accuracy"] = [[round(float(x), 4) for x in row] for row in shares]
        save_folder(folder, config, tensors)
