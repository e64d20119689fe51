"""The decode loop of every method: draft, verify in one target pass, emit the accepted tokens and one more of the target's.

A round's target pass reads the uncached tokens (the prompt in round 0, then the last emitted token) and the drafted tokens. Plain
decoding is this loop with an empty draft. Each round is launched (its work is queued on the device), collected (the host waits for the
accepted path) and finished (its record is written). With CUDA, the next round is launched before the last one is finished.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.decoding import draft_length
from core.decoding.round_clock import Marks, RoundClock
from core.decoding.round_result import RoundResult
from core.decoding.stop_strings import StopStrings
from core.decoding.verification import Verification
from core.errors import EnvironmentFailure, UserError
from core.grammar.constraint import Constraint
from core.grammar.matcher import Cursor, Grammar
from core.methods.base import Context, Draft, Proposer
from core.methods.forced import Forced
from core.models.host_copy import HostCopy, Mark, mark, start_copy, to_device, wait
from core.models.target import Target, graph_runner
from core.models.text import NoText, Text
from core.sampling.probs import Sampling
from core.sampling.race import Noise
from core.trace import Round

VERIFIERS = ("chain", "block", "coupled", "typical")      # a drafted tree is verified as a tree under "chain"
NO_COSTS = {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": 0.1}      # for draft length `auto` without measured costs


@dataclass(frozen=True)
class Options:
    """Options of a run that every method has. Raises UserError for a value out of range."""
    max_new_tokens: int = 96
    draft_len: int | str = 4        # a number, constant, auto or heuristic
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    record: bool = True             # record the tables; every Round has its tokens with p, q, u and acceptance all the same
    verify: str = "chain"
    first_position: int = 0         # of `coupled`: position of the first new token in the noise; a branch of a run continues its numbering
    typical_epsilon: float = 0.09   # of `typical`: Medusa's defaults (posterior_threshold, posterior_alpha)
    typical_delta: float = 0.3
    graphs: bool | None = None      # capture draft and verification (core.models.graphs); None: on CUDA. True on a CPU: static buffers
    grammar: Constraint | None = None           # structured output: what the whole output must be
    ahead: bool | None = None       # launch a round before the last one is finished; None: on CUDA

    def __post_init__(self) -> None:
        if self.max_new_tokens < 0:
            raise UserError(f"--max-new-tokens must be 0 or more, not {self.max_new_tokens}.")
        draft_length.make(self.draft_len, NO_COSTS)
        if any(not s for s in self.stop):
            raise UserError("--stop must not be empty.")
        if not 0 <= self.seed < 2 ** 63:
            raise UserError(f"--seed must be a whole number from 0 to 2^63 - 1, not {self.seed}.")
        if self.verify not in VERIFIERS:
            raise UserError(f"--verify must be one of {', '.join(VERIFIERS)}, not {self.verify!r}.")
        if not (0 <= self.typical_epsilon <= 1 and 0 <= self.typical_delta <= 1):
            raise UserError(f"Typical acceptance wants an epsilon and a delta from 0 to 1, not {self.typical_epsilon} and {self.typical_delta}.")


@dataclass(frozen=True)
class InFlightRound:
    """A round that has been launched and not yet finished."""
    round: Round
    drafted: Tensor             # [N]
    uncached: int               # number of uncached tokens before the drafted ones in the pass
    next_id: Tensor             # [1]
    hidden_states: dict[int, Tensor]    # aux layer -> [uncached + N, H]
    facts: HostCopy
    marks: Marks
    launched: float             # seconds on the run's clock
    part: str                   # Proposer.part of its draft
    single: list[bool] | None   # of each position: whether the grammar allows one id alone; None without a grammar


class Decoding:
    """One run. Iterate it for its Rounds; then `stop` says why it ended. Its caches are freed at the end, and by `close()` of the iterator."""

    def __init__(self, target: Target, proposer: Proposer, prompt: Sequence[int], options: Options,
                 text: Text | NoText | None = None, costs: dict[str, Any] | None = None) -> None:
        """costs: of core.measuring.costs, for draft length `auto`. Raises UserError for an empty prompt, ids outside the vocabulary, a prompt
        that fills the context, or a tree with verify="block"."""
        self.target, self.proposer, self.options, self.text = target, proposer, options, text or NoText()
        self.tokens = list(prompt)
        self.prompt_len = len(self.tokens)
        if not self.tokens:
            raise UserError("The prompt is empty: there is nothing to continue.")
        bad = next((t for t in self.tokens if not 0 <= t < target.vocab_size), None)
        if bad is not None:
            raise UserError(f"Prompt id {bad} is not in the target's vocabulary of {target.vocab_size} ids.")
        if self.prompt_len >= target.max_positions:
            raise UserError(f"The prompt has {self.prompt_len} tokens, the target's context holds {target.max_positions}: shorten it.",
                            "prompt_tokens", n=self.prompt_len, most=target.max_positions)
        if options.verify == "block" and proposer.levels is not None:
            raise UserError(f"--verify block checks chains, and --method {proposer.name} drafts a tree here: take --tree chain or no --verify.")
        grammar = self._grammar()
        if grammar is not None and type(proposer) is not Proposer:
            self.proposer = proposer = Forced(proposer)
        self.stops = StopStrings(options.stop, self.text)
        self.limit = min(options.max_new_tokens, target.max_positions - self.prompt_len)
        self.lengths: dict[str, draft_length.Constant | draft_length.Auto] = {}        # by part of the proposer
        self.costs = costs or NO_COSTS
        self.length("")
        self.stop: str | None = None
        self.index = 0
        capacity = self.prompt_len + self.limit
        dtype = torch.float64 if target.dtype == torch.float64 else torch.float32
        self.runner = graph_runner(target, options.graphs)
        coupled = options.verify == "coupled" and not options.sampling.greedy
        race = Noise(options.seed, target.vocab_size, target.device) if coupled else None
        self.ctx = Context(self.tokens, options.sampling, torch.Generator(target.device).manual_seed(options.seed), target.vocab_size,
                           capacity, target.device, dtype, target, None, options.record, race, self.prompt_len - options.first_position,
                           runner=self.runner)
        self.ctx.cache = self.ctx.new_cache(getattr(target, "model", target), capacity + proposer.side_nodes)
        if options.sampling.repetition_penalty != 1:
            self.ctx.seen = torch.zeros(target.vocab_size, dtype=torch.bool, device=target.device)
            self.ctx.seen.index_fill_(0, to_device(self.tokens, target.device), True)
        self.ctx.grammar = grammar
        proposer.begin(self.ctx)
        self.clock = RoundClock()
        self.ahead = target.device.type == "cuda" if options.ahead is None else options.ahead

    def _grammar(self) -> Cursor | None:
        """The place in the grammar behind what a branch has fixed already. Raises UserError for a grammar that cannot be used, or a fixed text
        that it forbids."""
        if self.options.grammar is None:
            return None
        cursor = Cursor(Grammar(self.options.grammar, self.text, self.target.vocab_size, self.target.eos_ids))
        fixed = self.tokens[self.prompt_len - self.options.first_position:]
        if cursor.take(fixed) < len(fixed):
            raise UserError(f"The text so far does not fit {self.options.grammar.flag}: go on from another place.", "grammar_branch")
        return cursor

    def length(self, part: str) -> draft_length.Constant | draft_length.Auto:
        """What decides the shape of this part's drafts."""
        if part not in self.lengths:
            acceptance = self.costs.get("acceptance") or {}
            free = {"draft_step_s": None} if part else {}          # the other part of a combination only looks things up
            trees = self.proposer.adaptive and not part and self.options.verify != "block"
            self.lengths[part] = draft_length.make(self.options.draft_len, {**self.costs, **free, "acceptance": acceptance.get(part)}, trees)
        return self.lengths[part]

    @property
    def expected(self) -> list[dict[str, Any]] | None:
        """For the trace: what `auto` expects of each shape before the first round; None for another draft length."""
        length = self.lengths[""]
        return draft_length.as_record(length.at_start) if isinstance(length, draft_length.Auto) and self.proposer.levels is None else None

    @property
    def new_tokens(self) -> list[int]:
        return self.tokens[self.prompt_len:]

    @property
    def output_text(self) -> str:
        """The decoded output without special tokens, cut before the first stop string."""
        return self.stops.cut() if self.stop == "stop_string" else self.text.decode(self.new_tokens)

    def __iter__(self) -> Iterator[Round]:
        try:
            if not self.limit:
                self.stop = "length"
            launched = None
            while self.stop is None:
                in_flight = launched or self._launch()
                result, count = self._collect(in_flight)
                launched = self._launch() if self.ahead and self.stop is None else None
                yield self._finish(in_flight, result, count)
        finally:
            self.stop = self.stop or "cancelled"
            self.close()

    def close(self) -> None:
        """Free the caches of the run."""
        self.proposer.end()
        self.ctx.give_back()

    @torch.inference_mode()
    def _launch(self) -> InFlightRound:
        """Queue all the work of a round on the device: the draft, the target's pass, verification, the copy to the host."""
        launched, ctx = self.clock.now, self.ctx
        with self.clock.running():
            m0 = mark(ctx.device)
            left = self.limit - len(self.new_tokens) - 1        # besides the one token that the target adds
            part = self.proposer.part(ctx) if self.index else ""
            shape = self.length(part).next() if self.index else draft_length.Shape(0, 0)
            ctx.without = ""
            if part and not shape.levels:               # what it finds does not pay: the main part drafts
                ctx.without, part = part, ""
                shape = self.length(part).next()
            k, ctx.nodes = min(self.proposer.levels or shape.levels, left) if self.index else 0, shape.nodes
            ctx.left = left if self.index else 0
            draft = self.proposer.propose(ctx, k) if k > 0 or (ctx.left > 0 and isinstance(self.proposer, Forced)) else None
            if draft is None:
                draft = Draft(torch.empty(0, dtype=torch.long, device=ctx.device))
            m1 = mark(ctx.device)
            uncached = ctx.uncached(ctx.cache.length)
            u = ctx.randomness(len(draft) + 1, (draft.levels or len(draft)) + 1)
            mask, single = self._masks(draft)
            (flat, layout, next_id, *hidden_states), m2 = self._verify(draft, uncached, u, mask)
            round_ = Round(self.index, len(self.new_tokens), k)
            self.index += 1
            return InFlightRound(round_, draft.tokens, len(uncached), next_id, dict(zip(self.proposer.aux_layers, hidden_states)),
                                 start_copy(flat, layout), (m0, m1, m2), launched, part, single)

    def _masks(self, draft: Draft) -> tuple[Tensor | None, list[bool] | None]:
        """The bitmasks int32 [N+1, W] of a pass, and which of them allow one id alone. Their one copy to the device; the draft's tokens are read on
        the host before, so that a round waits twice."""
        if self.ctx.grammar is None:
            return None, None
        tokens = draft.tokens.tolist()
        parents = range(-1, len(tokens) - 1) if draft.parents is None else draft.parents.tolist()
        bits, single = self.ctx.grammar.masks(tokens, parents)
        mask = torch.from_numpy(bits)
        return (mask.pin_memory() if self.ctx.device.type == "cuda" else mask).to(self.ctx.device, non_blocking=True), single

    def _verify(self, draft: Draft, uncached: Tensor, u: Tensor | None, mask: Tensor | None) -> tuple[tuple, Mark]:
        """What `Verification` returns, and a mark at the end of the target's pass."""
        ctx, options = self.ctx, self.options
        verification = Verification(self.proposer.target_pass(self.target), ctx.sampling_ctx, draft.levels, options.verify,
                                    options.typical_epsilon, options.typical_delta)
        if self.runner.mode is None:
            tree, logits, hidden_states = verification.forward(ctx.cache, uncached, draft)
            end = mark(ctx.device)
            return (*verification.accept(draft, tree, logits, u, ctx.seen, mask), *hidden_states), end
        inputs = uncached, u, ctx.seen, mask, *draft.tensors()
        out = self.runner.run(verification, ctx.cache, len(uncached) + len(draft), *inputs, capture=self.index > 0)
        return out, mark(ctx.device)            # a captured call cannot be timed in parts: the mark is at the end of the whole verification

    @torch.inference_mode()
    def _collect(self, in_flight: InFlightRound) -> tuple[RoundResult, int]:
        """Wait for a round's result and update tokens, caches and proposer for the next one. Returns the result and how many tokens it emits.

        Raises EnvironmentFailure if logits are not finite.
        """
        ctx = self.ctx
        with self.clock.running():
            host = wait(in_flight.facts)
            if not all(map(math.isfinite, [*host["peak"], *host["q"]])):
                who = "target" if not all(map(math.isfinite, host["peak"])) else "draft"
                raise EnvironmentFailure(f"The {who}'s logits are not finite in {self.target.dtype}: take --dtype float32, or other weights.")
            result = RoundResult.of(host, in_flight.single)
            ids = result.ids
            count = self._cut(ids)
            self.tokens += ids[:count]
            if ctx.seen is not None:
                ctx.seen.index_fill_(0, to_device(ids[:count], ctx.device), True)
            if ctx.grammar is not None:
                ctx.grammar.take(ids[:count])
            self.length(in_flight.part).observe(*result.free)
            self._roll_back(in_flight, result.path)
        return result, count

    def _finish(self, in_flight: InFlightRound, result: RoundResult, count: int) -> Round:
        """Write the record of a round: texts, tables and times."""
        with self.clock.running():
            result.write(in_flight.round, count, self.options.sampling.greedy or self.ctx.race is not None, self.options.record, self.text.piece)
        self.clock.finish(in_flight.round, in_flight.launched, in_flight.marks)
        return in_flight.round

    def _roll_back(self, in_flight: InFlightRound, path: list[int]) -> None:
        """Roll the target's cache back to all tokens but the last, and let the proposer observe the accepted path."""
        ctx, n, uncached, drafted = self.ctx, len(path), in_flight.uncached, in_flight.drafted
        start = ctx.cache.length - uncached - len(drafted)
        prefix = path == list(range(n))             # so it is in a chain, and the accepted entries are already in place
        if not prefix:
            accepted = to_device(path, ctx.device)
            ctx.cache.gather(start + uncached, accepted)
        ctx.cache.truncate(min(ctx.cache.length, len(self.tokens) - 1))
        if self.stop is None:
            ctx.new_ids = torch.cat([drafted[:n] if prefix else drafted.index_select(0, accepted), in_flight.next_id])
            ctx.hidden_states = {layer: x[:uncached + n] if prefix else torch.cat([x[:uncached], x[uncached:].index_select(0, accepted)])
                                 for layer, x in in_flight.hidden_states.items()}
            self.proposer.observe(ctx, path)

    def _cut(self, emitted: list[int]) -> int:
        """How many of the ids are emitted: up to the first EOS, the end of a stop string, or the limit. Sets `stop`."""
        so_far = len(self.new_tokens)
        for i, token in enumerate(emitted, 1):
            if token in self.target.eos_ids and not self.options.ignore_eos:
                self.stop = "eos"
            elif self.stops.push(token):
                self.stop = "stop_string"
            elif so_far + i >= self.limit:
                self.stop = "length"
            if self.stop:
                return i
        return len(emitted)
