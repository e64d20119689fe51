"""The interface between the decode loop and a proposer: Context goes in, a Draft comes out. The loop knows no method by name."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.grammar.matcher import Cursor, has
from core.grammar.walk import Walk
from core.methods.settings import Setting
from core.models.cache import KVCache
from core.models.decoder import Decoder, PassShape
from core.models.graphs import GraphRunner
from core.models.host_copy import to_device
from core.models.target import Cache, Target
from core.sampling.probs import Sampling
from core.sampling.race import Noise


@dataclass(frozen=True)
class SamplingContext:
    """What a captured function may know of a run besides its tensors: part of its key."""
    sampling: Sampling
    vocab_size: int
    dtype: torch.dtype
    record: bool = True
    coupled: bool = False       # whether tokens win a race instead of being drawn with uniforms (core.sampling.race)


@dataclass(frozen=True)
class TargetPass:
    """The target's pass of a round, as a captured function calls it."""
    target: Target
    aux_layers: tuple[int, ...] = ()

    def __call__(self, cache: Cache, ids: Tensor, last: int, shape: PassShape | None = None,
                 reused: Tensor | None = None) -> tuple[Tensor, dict[int, Tensor]]:
        """ids [K] -> logits [last, V] of the last positions and, by aux layer, hidden states [K, H]. reused: Draft.reused of the round's draft."""
        return self.target.verify(ids, cache, last, shape, self.aux_layers)


@dataclass
class Context:
    """The state of one run, for its proposer: tokens so far (prompt and output), sampling options, uniforms, caches. V: vocab_size."""
    tokens: list[int]
    sampling: Sampling
    generator: torch.Generator
    vocab_size: int                     # the target's; every q is over these ids
    capacity: int                       # the most positions that this run can reach
    device: torch.device
    dtype: torch.dtype                  # of the distributions: float32, or float64 with a float64 target
    target: Target
    cache: Cache                        # the target's; between rounds it holds all of `tokens` but the last
    record: bool = True                 # whether the draft's logits are recorded
    race: Noise | None = None           # the noise of a coupled run; None in all others
    first: int = 0                      # number of `tokens` before position 0 of the noise
    seen: Tensor | None = None          # [V] bool: the ids in `tokens`; None without a repetition penalty
    hidden_states: dict[int, Tensor] = field(default_factory=dict)     # aux layer -> [n, H] of the n tokens that the last round added to the cache
    runner: GraphRunner = field(default_factory=lambda: GraphRunner(enabled=False))
    new_ids: Tensor | None = None       # [n] int64: the last ids of `tokens`, already on the device
    nodes: int = 0                      # of the next draft, where the proposer is adaptive: more than its levels make a tree
    without: str = ""                   # the part of a proposer that is to be passed over in the next draft
    grammar: Cursor | None = None       # of structured output: the place behind `tokens`
    left: int = 0                       # the most tokens that the next draft may have, forced ones included
    lent: list[tuple[Any, KVCache]] = field(default_factory=list)       # (model, cache) that go back to the runner when the run ends

    @property
    def sampling_ctx(self) -> SamplingContext:
        return SamplingContext(self.sampling, self.vocab_size, self.dtype, self.record, self.race is not None)

    def walk(self, most: int) -> Walk | None:
        """For a proposer that drafts token by token: what the grammar allows at each place, for at most `most` tokens; None without a grammar."""
        if self.grammar is None or self.grammar.ended:
            return None
        return Walk(self.grammar, min(most, self.left), self.vocab_size, self.device, jumps=self.race is None)

    def fits(self, draft: Draft) -> bool:
        """Whether a grammar, if there is one, allows the first token of a draft."""
        return self.grammar is None or self.grammar.ended or has(self.grammar.mask(), int(draft.tokens[0]))

    @contextmanager
    def behind(self, forced: list[int]) -> Iterator[None]:
        """Inside, `tokens` and all that belongs to them go on with tokens that the grammar forces, whose draft a proposer continues."""
        if not forced:
            yield
            return
        kept, added = (self.new_ids, self.seen, self.left), to_device(forced, self.device)
        self.tokens += forced
        self.new_ids = added if self.new_ids is None else torch.cat([self.new_ids, added])
        self.seen = None if self.seen is None else self.seen.index_fill(0, added, True)
        self.left -= len(forced)
        try:
            yield
        finally:
            del self.tokens[-len(forced):]
            self.new_ids, self.seen, self.left = kept

    def new_cache(self, model: Any, capacity: int) -> KVCache:
        """A cache of at least `capacity` entries, for this run."""
        if not isinstance(model, Decoder):
            return model.new_cache(capacity)
        cache = self.runner.lend(model, capacity)
        self.lent.append((model, cache))
        return cache

    def give_back(self) -> None:
        """End of the run: return its caches for the next run."""
        for model, cache in self.lent:
            self.runner.give_back(model, cache)
        self.cache, self.hidden_states, self.new_ids, self.lent = None, {}, None, []

    def uncached(self, length: int) -> Tensor:
        """The uncached tokens of a cache with `length` entries: tokens[length:] as [n] int64 on the device."""
        n = len(self.tokens) - length
        if self.new_ids is not None and 0 < n <= self.new_ids.shape[0]:
            return self.new_ids[-n:]
        return to_device(self.tokens[length:], self.device)

    def uniforms(self, n: int) -> Tensor:
        """n new uniforms in [0, 1), float64: in float32 they would lie on a grid too coarse for small probabilities."""
        return torch.rand(n, generator=self.generator, dtype=torch.float64, device=self.device)

    def noise(self, n: int) -> Tensor | None:
        """The noise [n, V] of the next n positions in a coupled run; None in all others."""
        return None if self.race is None else self.race.rows(len(self.tokens) - self.first, n)

    def randomness(self, nodes: int, levels: int) -> Tensor | None:
        """For the draws of `nodes` tokens at the next `levels` positions: None if greedy, noise [levels, V] if coupled, else uniforms [nodes]."""
        if self.sampling.greedy:
            return None
        return self.uniforms(nodes) if self.race is None else self.noise(levels)


@dataclass
class Draft:
    """N drafted tokens. q None means one-hot: a deterministic draft, even if its model computes a softmax."""
    tokens: Tensor                      # [N] int64 target ids
    q: Tensor | None = None             # [N, V]: the distribution that each token was really drawn from
    logits: Tensor | None = None        # [N, V] raw, -inf at ids that the draft cannot propose; only for the trace
    parents: Tensor | None = None       # [N] int64: index of each node's parent, -1 = the last emitted token; None: a chain
    levels: int = 0                     # an upper bound of a tree's depth; 0 for a chain
    reused: Tensor | None = None        # what verification need not compute again; only the proposer's own target_pass reads it

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """All fields but `levels`, as inputs of a captured function."""
        return self.tokens, self.q, self.logits, self.parents, self.reused

    @classmethod
    def of(cls, tensors: Sequence[Tensor | None], levels: int) -> Draft:
        """The draft from its `tensors`."""
        tokens, q, logits, parents, reused = tensors
        return cls(tokens, q, logits, parents, levels, reused)


class Proposer:
    """Base class of all proposers. By itself it is the method `plain`, which never drafts."""

    name = "plain"
    settings: tuple[Setting, ...] = ()  # its own options, besides those that every method has
    aux_layers: tuple[int, ...] = ()    # target layers whose input hidden states it needs in ctx.hidden_states
    side_nodes: int = 0                 # most nodes of a tree that can be off the accepted path: extra cache entries
    levels: int | None = None           # levels of the trees it drafts; None: it drafts chains, --draft-len long
    adaptive: bool = False              # whether it drafts a tree of ctx.nodes nodes where these are more than the levels asked for
    max_positions: int | None = None    # its own limit of the context; None = none
    direct: str | None = None           # why its draft cannot be captured, in words; None: it can

    @property
    def costly(self) -> Proposer:
        """The proposer whose draft steps take time: itself, or the slower part of a combination."""
        return self

    def part(self, ctx: Context) -> str:
        """Which of its parts will draft next, for a proposer of several with acceptances of their own; "" for the main one."""
        return ""

    def begin(self, ctx: Context) -> None:
        """Start of a run: forget the last one."""

    def propose(self, ctx: Context, k: int) -> Draft | None:
        """A draft of up to k tokens (a tree: k levels) to follow ctx.tokens, or None. Does not wait for the device."""
        return None

    def target_pass(self, target: Target) -> TargetPass:
        """The target's pass for verification. A proposer that has already run a part of it returns another TargetPass."""
        return TargetPass(target, self.aux_layers)

    def observe(self, ctx: Context, path: list[int]) -> None:
        """After each round. path: indices of the accepted tokens in the draft; ctx.tokens now ends with them and the recovered or bonus token."""

    def forget(self) -> None:
        """Drop what earlier runs have taught it, so that all repeats of a measurement do the same work."""

    def end(self) -> None:
        """End of a run, also of a cancelled one: free its caches."""
