"""The held-out texts that a run is judged by, with the target's exact distribution on the draft's vocabulary kept in memory."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.decoder import Decoder
from core.train.batches import Batch, Texts
from core.train.cache import HEAD_ROWS


@dataclass
class HeldOut:
    batches: list[Batch]
    dists: list[list[Tensor]]        # per batch, per text: [positions that count, V] float16


@torch.no_grad()
def prepare(texts: Texts, target: Decoder, token_ids: Tensor, positions: int, size: int) -> HeldOut:
    """The first held-out texts, up to so many positions. The same ones for every run over the same data."""
    out, seen = HeldOut([], []), 0
    for a in range(0, len(texts.held_out), size):
        if seen >= positions:
            break
        batch = texts.batch(texts.held_out[a:a + size])
        out.batches.append(batch)
        out.dists.append([_distributions(batch.hidden_states[b, batch.counts[b], -1], target, token_ids) for b in range(len(batch.ids))])
        seen += batch.tokens
    return out


def _distributions(hidden_states: Tensor, target: Decoder, token_ids: Tensor) -> Tensor:
    parts = [target.logits(s.to(target.dtype)).float().softmax(-1)[:, token_ids].half() for s in hidden_states.split(HEAD_ROWS)]
    return torch.cat(parts) if parts else torch.zeros(0, len(token_ids))
