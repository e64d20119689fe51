"""What every proposer gets and gives. A proposer is one file; the loop knows no method by name."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.methods.settings import Setting
from core.models.cache import KVCache
from core.models.decoder import Decoder, PassShape
from core.models.graphs import GraphRunner
from core.models.host_copy import to_device
from core.models.target import Cache, Target
from core.sampling.probs import Sampling


@dataclass(frozen=True)
class SamplingContext:
    """What a captured function may know of a run besides its tensors."""
    sampling: Sampling
    vocab_size: int
    dtype: torch.dtype
    record: bool = True


@dataclass(frozen=True)
class TargetPass:
    """The target's pass of a round, for a captured function."""
    target: Target
    aux_layers: tuple[int, ...] = ()

    def __call__(self, cache: Cache, ids: Tensor, last: int, shape: PassShape | None = None,
                 reused: Tensor | None = None) -> tuple[Tensor, dict[int, Tensor]]:
        """ids [K] -> logits [last, V] and hidden states [K, H]. reused: what the draft has computed of this pass already (Draft.reused)."""
        return self.target.verify(ids, cache, last, shape, self.aux_layers)


@dataclass
class Context:
    """The state of one run that a proposer may read: tokens so far (prompt and output), sampling options, the run's uniforms."""
    tokens: list[int]
    sampling: Sampling
    generator: torch.Generator
    vocab_size: int                     # of the target: every q is over these ids
    capacity: int                       # most positions this run can reach
    device: torch.device
    dtype: torch.dtype                  # of the distributions: float32, or float64 with a float64 target
    target: Target
    cache: Cache                        # the target's; holds all of `tokens` but the last
    record: bool = True                 # whether anybody will look at a draft's logits
    seen: Tensor | None = None          # [V] bool, ids in `tokens`; kept only with a repetition penalty
    hidden_states: dict[int, Tensor] = field(default_factory=dict)     # aux layer -> [n, H], of the tokens that the last pass added to the cache
    runner: GraphRunner = field(default_factory=lambda: GraphRunner(enabled=False))
    new_ids: Tensor | None = None       # [n] int64, the last ids of `tokens`, where they already lie on the device
    lent: list[tuple[Any, KVCache]] = field(default_factory=list)       # caches that go back to the runner when the run ends

    @property
    def sampling_ctx(self) -> SamplingContext:
        return SamplingContext(self.sampling, self.vocab_size, self.dtype, self.record)

    def new_cache(self, model: Any, capacity: int) -> KVCache:
        """For at least `capacity` entries, until the run ends."""
        if not isinstance(model, Decoder):
            return model.new_cache(capacity)
        cache = self.runner.lend(model, capacity)
        self.lent.append((model, cache))
        return cache

    def give_back(self) -> None:
        """The run is over: its caches may serve the next one."""
        for model, cache in self.lent:
            self.runner.give_back(model, cache)
        self.cache, self.hidden_states, self.new_ids, self.lent = None, {}, None, []

    def uncached(self, length: int) -> Tensor:
        """The tokens that a cache of `length` entries has not read: tokens[length:] as [n] int64 on the device."""
        n = len(self.tokens) - length
        if self.new_ids is not None and 0 < n <= self.new_ids.shape[0]:
            return self.new_ids[-n:]
        return to_device(self.tokens[length:], self.device)

    def uniforms(self, n: int) -> Tensor:
        """n fresh draws in [0, 1), float64: float32 would round small probabilities to a coarse grid."""
        return torch.rand(n, generator=self.generator, dtype=torch.float64, device=self.device)


@dataclass
class Draft:
    """N drafted tokens. q None means one-hot: the draft was deterministic, whatever its head's softmax gives."""
    tokens: Tensor                      # [N] int64 target ids
    q: Tensor | None = None             # [N, V], the distribution each token was really drawn from
    logits: Tensor | None = None        # [N, V], raw; -inf where the draft cannot go; for the trace alone
    parents: Tensor | None = None       # [N] int64, index of each node's parent, -1 = the last emitted token; None: a chain
    levels: int = 0                     # of a tree: an upper bound of its depth
    reused: Tensor | None = None          # what verification need not compute again; only the proposer's own target_pass reads it

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """Everything but `levels`: inputs of a captured function."""
        return self.tokens, self.q, self.logits, self.parents, self.reused

    @classmethod
    def of(cls, tensors: Sequence[Tensor | None], levels: int) -> Draft:
        """The draft again from its `tensors`."""
        tokens, q, logits, parents, reused = tensors
        return cls(tokens, q, logits, parents, levels, reused)


class Proposer:
    """Base of all proposers, and itself `plain`: it never proposes anything."""

    name = "plain"
    settings: tuple[Setting, ...] = ()  # its own options, beside the ones every method has
    aux_layers: tuple[int, ...] = ()          # target layers whose input hidden states it wants in ctx.hidden states
    side_nodes: int = 0                 # most drafted nodes beside the accepted path: cache rows a tree needs for a while
    levels: int | None = None           # of a tree given by its shape; None: as many as --draft-len says
    max_positions: int | None = None    # longest context it can read; None = no limit of its own
    direct: str | None = None           # why its draft cannot be captured, in words

    @property
    def costly(self) -> Proposer:
        """Whose draft steps cost time: itself, or the dearer part of a combination."""
        return self

    def begin(self, ctx: Context) -> None:
        """A new run: forget everything of the last one."""

    def propose(self, ctx: Context, k: int) -> Draft | None:
        """Up to k tokens (a tree: k levels) to follow ctx.tokens, or None. Never waits for the device."""
        return None

    def target_pass(self, target: Target) -> TargetPass:
        """How the target verifies; another than the plain pass for who has run a part of it already."""
        return TargetPass(target, self.aux_layers)

    def observe(self, ctx: Context, path: list[int]) -> None:
        """After a round: ctx.tokens now ends with the drafted tokens of `path` (indices into the draft) and one of the target's."""

    def forget(self) -> None:
        """Drop what earlier runs taught, so that the repeats of a measurement all do the same work."""

    def end(self) -> None:
        """The run is over, however it ended: free its caches."""
