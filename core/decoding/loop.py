"""One decode loop for every method, plain decoding included: draft, verify in one pass, keep a path, draw one token more.

A round feeds what the target has not seen yet (the prompt in round 0, then the last emitted token) and the drafted tokens.
Plain decoding is this loop with an empty draft.
"""
from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.decoding import draft_length
from core.decoding.round_result import Outcome
from core.decoding.verification import Step
from core.errors import EnvironmentFailure, UserError
from core.methods.base import Context, Draft, Proposer
from core.models import graphs
from core.models.host_copy import Mark, Parcel, arrive, depart, mark, seconds, send
from core.models.target import Target
from core.models.text import NoText, Text
from core.sampling.probs import Sampling
from core.trace import Round

VERIFIERS = ("chain", "block", "typical")      # a drafted tree is verified as a tree under "chain"
NO_COSTS = {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": 0.1}      # for `auto` where nothing was measured


@dataclass(frozen=True)
class Options:
    max_new_tokens: int = 96
    draft_len: int | str = 4        # a number, auto or heuristic
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    record: bool = True             # write the tables; without them a Round still has every id, p, q, u and verdict
    verify: str = "chain"
    typical_epsilon: float = 0.09   # Medusa's defaults: posterior_threshold and posterior_alpha
    typical_delta: float = 0.3
    graphs: bool | None = None      # capture draft and verification (core.models.graphs); None: with CUDA. True on a CPU: its static buffers
    ahead: bool | None = None       # start a round before the last one's texts and tables are written; None: with CUDA, which works meanwhile

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


@dataclass(frozen=True)
class Flight:
    """A round that the device has been given."""
    round: Round
    drafted: Tensor             # [N]
    pending: int                # tokens before the draft that the pass reads
    next_id: Tensor             # [1]
    states: dict[int, Tensor]   # tap -> [pending + N, H]
    facts: Parcel
    marks: tuple[Mark, Mark, Mark]      # before the draft, before the target's pass, behind it
    spent: float                # seconds inside earlier rounds


class Decoding:
    """One run. Iterate it for its Rounds; afterwards `stop` says why it ended. Breaking off or `close()` frees the caches."""

    def __init__(self, target: Target, proposer: Proposer, prompt: Sequence[int], options: Options,
                 text: Text | NoText | None = None, costs: dict[str, Any] | None = None) -> None:
        """Raises UserError for an empty prompt, ids outside the vocabulary, a prompt that fills the context, or a tree under `block`."""
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
        self.limit = min(options.max_new_tokens, target.max_positions - self.prompt_len)
        self.length = draft_length.make(options.draft_len, costs or NO_COSTS)
        self.stop: str | None = None
        self.index = 0
        capacity = self.prompt_len + self.limit
        dtype = torch.float64 if target.dtype == torch.float64 else torch.float32
        self.runner = graphs.of(target, options.graphs)
        self.ctx = Context(self.tokens, options.sampling, torch.Generator(target.device).manual_seed(options.seed), target.vocab_size,
                           capacity, target.device, dtype, target, None, options.record, runner=self.runner)
        self.ctx.cache = self.ctx.new_cache(getattr(target, "model", target), capacity + proposer.side_nodes)
        if options.sampling.repetition_penalty != 1:
            self.ctx.seen = torch.zeros(target.vocab_size, dtype=torch.bool, device=target.device)
            self.ctx.seen.index_fill_(0, send(self.tokens, target.device), True)
        proposer.begin(self.ctx)
        self.spent = self.told = 0.0    # seconds inside rounds, by now and by the last record: what a reader does between two is not decoding
        self.busy = 0.0                 # until when, on that clock, the device works on what was told
        self.ahead = target.device.type == "cuda" if options.ahead is None else options.ahead

    @property
    def new_tokens(self) -> list[int]:
        return self.tokens[self.prompt_len:]

    @property
    def output_text(self) -> str:
        """The decoded output, cut before the first stop string."""
        text = self.text.decode(self.new_tokens)
        if self.stop == "stop_string":
            text = text[:min(text.find(s) for s in self.options.stop if s in text)]
        return text

    def __iter__(self) -> Iterator[Round]:
        try:
            if not self.limit:
                self.stop = "length"
            flight = None
            while self.stop is None:
                flight = flight or self._depart()
                outcome, count = self._arrive(flight)
                landed, flight = flight, self._depart() if self.ahead and self.stop is None else None
                yield self._tell(landed, outcome, count)
        finally:
            self.stop = self.stop or "cancelled"
            self.close()

    def close(self) -> None:
        self.proposer.end()
        self.ctx.give_back()

    @torch.inference_mode()
    def _depart(self) -> Flight:
        """Give the device all the work of a round: the draft, the target's pass, the verdicts, their way to the host."""
        t0, m0 = time.perf_counter(), mark(self.ctx.device)
        ctx, left = self.ctx, self.limit - len(self.new_tokens)
        k = min(self.proposer.levels or self.length.next(), left - 1) if self.index else 0             # the target adds one token of its own
        draft = self.proposer.propose(ctx, k) if k > 0 else None
        if draft is None:
            draft = Draft(torch.empty(0, dtype=torch.long, device=ctx.device))
        m1 = mark(ctx.device)
        n, pending, options = len(draft), ctx.since(ctx.cache.length), self.options
        step = Step(self.proposer.target_pass(self.target), ctx.rules, draft.levels, options.verify, options.typical_epsilon, options.typical_delta)
        u = None if options.sampling.greedy else ctx.uniforms(n + 1)
        if self.runner.mode is None:
            tree, logits, states = step.forward(ctx.cache, pending, draft.tokens, draft.parents, draft.kept)
            m2 = mark(ctx.device)
            flat, layout, next_id = step.judge(tree, logits, draft.tokens, draft.q, draft.logits, u, ctx.seen)
        else:                           # a captured verification holds the verdicts too
            flat, layout, next_id, *states = self.runner.run(step, ctx.cache, len(pending) + n, pending, draft.tokens, draft.q, draft.logits,
                                                             draft.parents, draft.kept, u, ctx.seen, capture=self.index > 0)
            m2 = mark(ctx.device)
        round_ = Round(self.index, len(self.new_tokens), k)
        self.index += 1
        taps = dict(zip(self.proposer.taps, states))
        flight = Flight(round_, draft.tokens, len(pending), next_id, taps, depart(flat, layout), (m0, m1, m2), self.spent)
        self.spent += time.perf_counter() - t0
        return flight

    @torch.inference_mode()
    def _arrive(self, flight: Flight) -> tuple[Outcome, int]:
        """Wait for a round's facts and make everything ready for the next one. Returns them, and how many tokens the round emits."""
        t0, ctx = time.perf_counter(), self.ctx
        host = arrive(flight.facts)
        if not all(map(math.isfinite, [*host["peak"], *host["q"]])):
            who = "target" if not all(map(math.isfinite, host["peak"])) else "draft"
            raise EnvironmentFailure(f"The {who}'s logits are no numbers in {self.target.dtype}: take --dtype float32, or other weights.")
        outcome = Outcome.of(host, self.options.verify == "block")
        ids = outcome.ids
        count = self._cut(ids)
        self.tokens += ids[:count]
        if ctx.seen is not None:
            ctx.seen.index_fill_(0, send(ids[:count], ctx.device), True)
        self.length.observe(max(outcome.levels, default=0), len(outcome.path))
        self._keep(flight, outcome.path)
        self.spent += time.perf_counter() - t0
        return outcome, count

    def _tell(self, flight: Flight, outcome: Outcome, count: int) -> Round:
        """The record of a round: texts and tables."""
        t0, round_, (m0, m1, m2) = time.perf_counter(), flight.round, flight.marks
        outcome.write(round_, count, self.options.sampling.greedy, self.options.record, self.text.piece)
        round_.draft_s, round_.verify_s = seconds(m0, m1), seconds(m1, m2)
        self.spent += time.perf_counter() - t0
        # the device may have worked while the round's reader read: that time is decoding too
        self.busy = max(self.busy, flight.spent) + round_.draft_s + round_.verify_s
        self.spent = max(self.spent, self.busy)
        round_.elapsed_s = self.spent
        round_.other_s = max(0.0, self.spent - self.told - round_.draft_s - round_.verify_s)
        self.told = self.spent
        return round_

    def _keep(self, flight: Flight, path: list[int]) -> None:
        """Make the cache hold all tokens but the last, and hand the proposer what became of its draft."""
        ctx, n, pending, drafted = self.ctx, len(path), flight.pending, flight.drafted
        start = ctx.cache.length - pending - len(drafted)
        straight = path == list(range(n))
        if not straight:
            kept = send(path, ctx.device)
            ctx.cache.gather(start + pending, kept)
        ctx.cache.truncate(min(ctx.cache.length, len(self.tokens) - 1))
        if self.stop is None:
            ctx.fresh = torch.cat([drafted[:n] if straight else drafted.index_select(0, kept), flight.next_id])
            ctx.states = {tap: x[:pending + n] if straight else torch.cat([x[:pending], x[pending:].index_select(0, kept)])
                          for tap, x in flight.states.items()}
            self.proposer.observe(ctx, path)

    def _cut(self, emitted: list[int]) -> int:
        """How many of the ids stay: none behind the first EOS, stop string or the limit. Sets `stop`."""
        opts, ids = self.options, self.new_tokens
        for i, token in enumerate(emitted, 1):
            ids.append(token)
            if token in self.target.eos_ids and not opts.ignore_eos:
                self.stop = "eos"
            elif opts.stop and any(s in self.text.decode(ids) for s in opts.stop):
                self.stop = "stop_string"
            elif len(ids) >= self.limit:
                self.stop = "length"
            if self.stop:
                return i
        return len(emitted)
