"""The interface of a target, which the decode loop uses for every kind of model, and the target of our own decoder."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from core.models import graphs
from core.models.decoder import Decoder, PassShape
from core.models.graphs import GraphRunner

PREFILL = 512       # prompt tokens per pass: bounds the memory of a long prompt


def passes(ids: Tensor, last: int) -> list[Tensor]:
    """ids [K] in pieces of PREFILL, one pass each; the last piece is at least `last` tokens long, those whose logits are wanted."""
    pieces = []
    while ids.shape[0] - PREFILL >= last:
        pieces.append(ids[:PREFILL])
        ids = ids[PREFILL:]
    return [*pieces, ids]


class Cache(Protocol):
    """A target's cache: `length` valid entries; `truncate` rolls back."""
    length: int

    def truncate(self, length: int) -> None: ...


class Target(Protocol):
    """What the loop needs of a target. DecoderTarget.verify says what `verify` takes and returns."""
    vocab_size: int                 # ids that may be emitted: without the rows that only pad the head
    max_positions: int
    eos_ids: tuple[int, ...]
    device: torch.device
    dtype: torch.dtype

    def new_cache(self, capacity: int) -> Cache: ...

    def verify(self, ids: Tensor, cache: Cache, last: int, shape: PassShape | None = None,
               aux_layers: Sequence[int] = ()) -> tuple[Tensor, dict[int, Tensor]]: ...


class ModelTarget:
    """The properties that every target reads from its model."""

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

    @property
    def arithmetic(self) -> str:
        """What --dtype calls the arithmetic of its passes."""
        return getattr(self.model, "arithmetic", str(self.dtype).removeprefix("torch."))

    @property
    def row_exact(self) -> bool:
        """Whether a pass over k tokens gives each row the bits of passes over one, so that greedy text is plain's bit for bit."""
        return getattr(self.model, "row_exact", False)

    def new_cache(self, capacity: int) -> Cache:
        return self.model.new_cache(capacity)


class DecoderTarget(ModelTarget):
    """A target that runs on core.models.decoder."""

    def __init__(self, model: Decoder, vocab_size: int | None = None, eos_ids: tuple[int, ...] | None = None) -> None:
        super().__init__(model, vocab_size, eos_ids)
        self.graphs: GraphRunner | None = None       # made by graph_runner for the first run that captures
        self.direct: str | None = None          # why its passes cannot be captured, in words; set where another library's layers are in it

    def verify(self, ids: Tensor, cache: Cache, last: int, shape: PassShape | None = None,
               aux_layers: Sequence[int] = ()) -> tuple[Tensor, dict[int, Tensor]]:
        """One target pass over ids [K] (a long prompt: several passes). shape: positions and tree mask where they form a tree.

        Returns logits [last, vocab_size] of the last positions and, for each layer in `aux_layers`, its input hidden states [K, H]
        (number of layers: the output of the last one, before the final norm).
        """
        *first, rest = passes(ids, last)
        parts = [self.model.run(piece[None], cache, aux_layers=aux_layers)[1] for piece in first]
        hidden, hidden_states = self.model.run(rest[None], cache, shape, aux_layers=aux_layers)
        parts.append(hidden_states)
        hidden_states = {layer: torch.cat([part[layer][0] for part in parts]) for layer in aux_layers}
        return self.model.logits(hidden[0, -last:])[:, :self.vocab_size], hidden_states


def graph_runner(target: Target, wanted: bool | None) -> GraphRunner:
    """The graph runner of a run on this target, which keeps it for later runs. wanted None: capture on CUDA, not on a CPU (CPU_BY_DEFAULT)."""
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
