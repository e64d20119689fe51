"""The held-out texts on which a training run is measured, with the target's exact distributions over the draft's vocabulary."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.decoder import Decoder
from core.train.batches import Batch, Texts
from core.train.cache import HEAD_ROWS


@dataclass
class HeldOut:
    """Batches of held-out texts."""
    batches: list[Batch]
    dists: list[list[Tensor]]       # by batch and text: the target's probabilities [positions that count, V] float16


@torch.no_grad()
def prepare(texts: Texts, target: Decoder, token_ids: Tensor, positions: int, size: int) -> HeldOut:
    """The first held-out texts, up to `positions` positions, in batches of `size`; the same for every run on the same data."""
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
