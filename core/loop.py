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

from core import draft_length, graphs, record
from core.errors import EnvironmentFailure, UserError
from core.probs import Sampling
from core.propose.base import Context, Draft, Proposer
from core.step import Step
from core.target import Target
from core.text import NoText, Text
from core.trace import Drafted, Emitted, Round
from core.transfer import fetch, mark, seconds, send

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
    graphs: bool | None = None      # capture draft and verification (core.graphs); None: with CUDA. True on a CPU: its static buffers

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
            raise UserError(f"The prompt has {self.prompt_len} tokens, the target's context holds {target.max_positions}: shorten it.")
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
        self.spent = 0.0                # seconds inside rounds: what the reader of a round does between two of them is not decoding

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
            while self.stop is None:
                yield self._round()
        finally:
            self.stop = self.stop or "cancelled"
            self.close()

    def close(self) -> None:
        self.proposer.end()
        self.ctx.give_back()

    @torch.inference_mode()
    def _round(self) -> Round:
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
        path = self._settle(round_, n, fetch(flat, layout))
        self._keep(len(pending), draft.tokens, next_id, path, dict(zip(self.proposer.taps, states)))
        self.index += 1
        t3 = time.perf_counter()
        self.spent += t3 - t0
        round_.draft_s, round_.verify_s, round_.elapsed_s = seconds(m0, m1), seconds(m1, m2), self.spent
        round_.other_s = max(0.0, t3 - t0 - round_.draft_s - round_.verify_s)
        return round_

    def _settle(self, round_: Round, n: int, host: dict[str, list]) -> list[int]:
        """All that the record keeps of a round whose facts have arrived. Returns the accepted path."""
        ctx, sampling = self.ctx, self.options.sampling
        if not all(map(math.isfinite, [*host["peak"], *host["q"]])):
            who = "target" if not all(map(math.isfinite, host["peak"])) else "draft"
            raise EnvironmentFailure(f"The {who}'s logits are no numbers in {self.target.dtype}: take --dtype float32, or other weights.")

        tokens = [int(t) for t in host["tokens"]]
        parents = [int(x) for x in host["parents"]] if "parents" in host else list(range(-1, n - 1))
        path = [i for i in range(n) if host["accepted"][i]]
        last, at = (int(x) for x in host["next"])
        refused = any(host["tested"][i] and not host["accepted"][i] for i in range(n) if parents[i] == at - 1) or self._rejected_block(n, at)
        emitted = [Emitted(tokens[i], self.text.piece(tokens[i]), "accepted") for i in path]
        emitted.append(Emitted(last, self.text.piece(last), "plain" if not n else "recovered" if refused else "bonus"))
        round_.emitted = self._cut(emitted)
        levels = [0] * n
        for i in range(n):
            levels[i] = 1 if parents[i] < 0 else levels[parents[i]] + 1
        # what was drafted behind the end of the output never mattered: it leaves the record and every count
        ended = self.stop is not None and len(round_.emitted) <= len(path)
        keep = [i for i in range(n) if not ended or levels[i] <= len(round_.emitted)]
        place = {old: new for new, old in enumerate(keep)} | {-1: -1}
        for i in keep:
            verdict_ = "accepted" if host["accepted"][i] else "rejected" if host["tested"][i] else "not_reached"
            round_.drafted.append(Drafted(tokens[i], self.text.piece(tokens[i]), place[parents[i]], host["p"][i], host["q"][i],
                                          None if sampling.greedy else host["u"][i], host["threshold"][i], verdict_))
        if self.options.record:
            tables = record.tables({name[6:]: x for name, x in host.items() if name.startswith("table.")}, tokens, parents, host["p"],
                                   host["q"], at if refused else None, self.text.piece)
            round_.tables = [tables[i] for i in range(n + 1) if not ended or i == 0 or (i - 1 in place and levels[i - 1] < len(round_.emitted))]
            for table in round_.tables:
                table.after = place[table.after]
        self.tokens += [e.id for e in round_.emitted]
        if ctx.seen is not None:
            ctx.seen.index_fill_(0, send([e.id for e in round_.emitted], ctx.device), True)
        self.length.observe(max(levels, default=0), len(path))
        return path

    def _rejected_block(self, n: int, at: int) -> bool:
        return self.options.verify == "block" and at < n

    def _keep(self, pending: int, drafted: Tensor, next_id: Tensor, path: list[int], states: dict[int, Tensor]) -> None:
        """Make the cache hold all tokens but the last, and hand the proposer what became of its draft."""
        ctx, n = self.ctx, len(path)
        start = ctx.cache.length - pending - len(drafted)
        straight = path == list(range(n))
        if not straight:
            kept = send(path, ctx.device)
            ctx.cache.gather(start + pending, kept)
        ctx.cache.truncate(min(ctx.cache.length, len(self.tokens) - 1))
        if self.stop is None:
            ctx.fresh = torch.cat([drafted[:n] if straight else drafted.index_select(0, kept), next_id])
            ctx.states = {tap: x[:pending + n] if straight else torch.cat([x[:pending], x[pending:].index_select(0, kept)])
                          for tap, x in states.items()}
            self.proposer.observe(ctx, path)

    def _cut(self, emitted: list[Emitted]) -> list[Emitted]:
        """Drop what lies behind the first EOS, stop string or the limit, and set `stop`."""
        opts, ids = self.options, self.new_tokens
        for i, token in enumerate(emitted, 1):
            ids.append(token.id)
            if token.id in self.target.eos_ids and not opts.ignore_eos:
                self.stop = "eos"
            elif opts.stop and any(s in self.text.decode(ids) for s in opts.stop):
                self.stop = "stop_string"
            elif len(ids) >= self.limit:
                self.stop = "length"
            if self.stop:
                return emitted[:i]
        return emitted
