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

from core import draft_length, probs, record, verify
from core.errors import EnvironmentFailure, UserError
from core.probs import Sampling
from core.propose.base import Context, Draft, Proposer
from core.target import Target
from core.text import NoText, Text
from core.trace import Drafted, Emitted, Round
from core.transfer import fetch
from core.tree import Tree

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
        self.ctx = Context(self.tokens, options.sampling, torch.Generator(target.device).manual_seed(options.seed), target.vocab_size,
                           capacity, target.device, dtype, target, target.new_cache(capacity + proposer.side_nodes), options.record)
        if options.sampling.repetition_penalty != 1:
            self.ctx.seen = torch.zeros(target.vocab_size, dtype=torch.bool, device=target.device)
            self.ctx.seen[self.tokens] = True
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
        self.ctx.cache, self.ctx.states = None, {}

    @torch.inference_mode()
    def _round(self) -> Round:
        t0 = time.perf_counter()
        ctx, left = self.ctx, self.limit - len(self.new_tokens)
        k = min(self.proposer.levels or self.length.next(), left - 1) if self.index else 0             # the target adds one token of its own
        draft = self.proposer.propose(ctx, k) if k > 0 else None
        if draft is None:
            draft = Draft(torch.empty(0, dtype=torch.long, device=ctx.device))
        t1 = time.perf_counter()
        pending = torch.tensor(self.tokens[ctx.cache.length:], device=ctx.device)
        tree = Tree.of(draft.parents, draft.levels) if draft.parents is not None else None
        shape = tree.pass_shape(len(pending)) if tree is not None else None
        logits, states = self.proposer.verify(ctx, torch.cat([pending, draft.tokens]), len(draft) + 1, shape)
        t2 = time.perf_counter()
        round_ = Round(self.index, len(self.new_tokens), k)
        path = self._settle(round_, draft, tree, logits.to(ctx.dtype))
        self._keep(len(pending), len(draft), path, states)
        self.index += 1
        t3 = time.perf_counter()
        self.spent += t3 - t0
        round_.draft_s, round_.verify_s, round_.other_s, round_.elapsed_s = t1 - t0, t2 - t1, t3 - t2, self.spent
        return round_

    def _settle(self, round_: Round, draft: Draft, tree: Tree | None, logits: Tensor) -> list[int]:
        """Laws, verdicts, the round's one wait for the device, and all that the record keeps of it. Returns the accepted path."""
        ctx, n, sampling = self.ctx, len(draft), self.options.sampling
        seen = None if ctx.seen is None else probs.seen_along(ctx.seen, draft.tokens, tree)
        scored = probs.scores(logits, sampling, seen)
        p = probs.law(scored, sampling)
        u = torch.full((n + 1,), 0.5, dtype=torch.float64, device=ctx.device) if sampling.greedy else ctx.uniforms(n + 1)
        verdict = self._judge(p, draft, tree, u)
        own, rows = draft.tokens[:, None], slice(0, n) if tree is None else tree.parents + 1
        packed = {"tokens": draft.tokens, "accepted": verdict.accepted, "tested": verdict.tested, "u": u[:n], "threshold": verdict.threshold,
                  "p": p[rows].gather(1, own)[:, 0], "q": draft.q.gather(1, own)[:, 0] if draft.q is not None else torch.ones_like(u[:n]),
                  "next": torch.stack([verdict.next_id, verdict.at]), "peak": logits.amax(-1)}
        if tree is not None:
            packed["parents"] = tree.parents
        if self.options.record:
            q_scored = None if draft.logits is None else probs.scores(draft.logits, sampling, None if seen is None else seen[rows])
            captured = record.capture(p, scored, logits, draft.q, q_scored, draft.logits, draft.tokens, draft.parents, verdict.residual)
            packed |= {f"table.{name}": tensor for name, tensor in captured.items()}
        host = fetch(packed)
        if not all(map(math.isfinite, [*host["peak"], *host["q"]])):
            who = "target" if not all(map(math.isfinite, host["peak"])) else "draft"
            raise EnvironmentFailure(f"The {who}'s logits are no numbers in {self.target.dtype}: take --dtype float32, or other weights.")

        tokens = [int(t) for t in host["tokens"]]
        parents = [int(x) for x in host["parents"]] if tree is not None else list(range(-1, n - 1))
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
            ctx.seen[[e.id for e in round_.emitted]] = True
        self.length.observe(max(levels, default=0), len(path))
        return path

    def _judge(self, p: Tensor, draft: Draft, tree: Tree | None, u: Tensor) -> verify.Verdict:
        n, options = len(draft), self.options
        if options.verify == "typical" and n:
            shape = tree or Tree.of(torch.arange(-1, n - 1, device=u.device), n)
            return verify.typical(p, draft.tokens, shape, u[n], options.typical_epsilon, options.typical_delta)
        if tree is not None:
            return verify.tree(p, draft.q, draft.tokens, tree, u[:n], u[n])
        q = draft.q if draft.q is not None else verify.one_hot(draft.tokens, self.ctx.vocab_size, p.dtype)
        return (verify.block if options.verify == "block" else verify.chain)(p, q, draft.tokens, u[:n], u[n])

    def _rejected_block(self, n: int, at: int) -> bool:
        return self.options.verify == "block" and at < n

    def _keep(self, pending: int, n: int, path: list[int], states: dict[int, Tensor]) -> None:
        """Make the cache hold all tokens but the last, and hand the proposer what became of its draft."""
        ctx = self.ctx
        start = ctx.cache.length - pending - n
        if path != list(range(len(path))):
            ctx.cache.gather(start + pending, torch.tensor(path, device=ctx.device))
        ctx.cache.truncate(min(ctx.cache.length, len(self.tokens) - 1))
        if self.stop is None:
            rows = torch.tensor([*range(pending), *(pending + i for i in path)], device=ctx.device)
            ctx.states = {tap: x.index_select(0, rows) for tap, x in states.items()}
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
