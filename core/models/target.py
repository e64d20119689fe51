"""The one interface through which the loop sees a target, whatever model is behind it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from core.models import graphs
from core.models.decoder import Decoder, PassShape
from core.models.graphs import GraphRunner

PREFILL = 512       # tokens a pass: bounds the memory of a long prompt


def passes(ids: Tensor, last: int) -> list[Tensor]:
    """ids [K] in pieces of PREFILL, one pass each; the last piece is at least `last` tokens long, those whose logits are wanted."""
    pieces = []
    while ids.shape[0] - PREFILL >= last:
        pieces.append(ids[:PREFILL])
        ids = ids[PREFILL:]
    return [*pieces, ids]


class Cache(Protocol):
    length: int

    def truncate(self, length: int) -> None: ...


class Target(Protocol):
    vocab_size: int                 # ids that may be emitted; rows that only pad the head are cut off
    max_positions: int
    eos_ids: tuple[int, ...]
    device: torch.device
    dtype: torch.dtype

    def new_cache(self, capacity: int) -> Cache: ...

    def verify(self, ids: Tensor, cache: Cache, last: int, shape: PassShape | None = None,
               aux_layers: Sequence[int] = ()) -> tuple[Tensor, dict[int, Tensor]]: ...


class ModelTarget:
    """What all targets take from their model."""

    def __init__(self, model: Any, vocab_size: int | None = None, eos_ids: tuple[int, ...] | None = None) -> None:
        self.model = model
        self.vocab_size = min(vocab_size or model.config.vocab_size, model.config.vocab_size)
        self.max_positions = model.config.max_positions
        self.eos_ids = model.config.eos_ids if eos_ids is None else eos_ids

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    def new_cache(self, capacity: int) -> Cache:
        return self.model.new_cache(capacity)


class DecoderTarget(ModelTarget):
    """A target that runs on our own decoder."""

    def __init__(self, model: Decoder, vocab_size: int | None = None, eos_ids: tuple[int, ...] | None = None) -> None:
        super().__init__(model, vocab_size, eos_ids)
        self.graphs: GraphRunner | None = None       # made by the first run that captures
        self.direct: str | None = None          # why its passes cannot be captured, in words: for weights of another library

    def verify(self, ids: Tensor, cache: Cache, last: int, shape: PassShape | None = None,
               aux_layers: Sequence[int] = ()) -> tuple[Tensor, dict[int, Tensor]]:
        """Read ids [K] in one pass (a long prompt in several), behind what the cache holds.

        Returns logits [last, vocab_size] of the last positions and, for each layer in `aux_layers`, its input hidden states [K, H]
        (number of layers: the output of the last one, before the final norm).
        """
        *first, rest = passes(ids, last)
        parts = [self.model.run(piece[None], cache, aux_layers=aux_layers)[1] for piece in first]
        hidden, hidden_states = self.model.run(rest[None], cache, shape, aux_layers=aux_layers)
        parts.append(hidden_states)
        hidden_states = {aux_layer: torch.cat([part[aux_layer][0] for part in parts]) for aux_layer in aux_layers}
        return self.model.logits(hidden[0, -last:])[:, :self.vocab_size], hidden_states


def graph_runner(target: Target, wanted: bool | None) -> GraphRunner:
    """The runner for a run on this target, kept with it. wanted None: where the device captures by default."""
    if wanted is False:
        return GraphRunner(target.device, False)
    direct = getattr(target, "direct", "the target runs through transformers")
    if direct:
        return GraphRunner(target.device, False, why=direct)
    if wanted is None and target.device.type == "cpu" and not graphs.CPU_BY_DEFAULT:
        return GraphRunner(target.device, False, why="a CPU runs every pass directly")
    if target.graphs is None:
        target.graphs = GraphRunner(target.device)
    return target.graphs
