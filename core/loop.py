"""One decode loop for every method, plain decoding included: draft, verify in one pass, keep a prefix, draw one token more.

A round feeds what the target has not seen yet (the prompt in round 0, then the last emitted token) and the drafted tokens.
Plain decoding is this loop with an empty draft.
"""
from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from core import probs, record, verify
from core.errors import UserError
from core.probs import Sampling
from core.propose.base import Context, Draft, Proposer
from core.target import Target
from core.text import NoText, Text
from core.trace import Drafted, Emitted, Round
from core.transfer import fetch


@dataclass(frozen=True)
class Options:
    max_new_tokens: int = 96
    draft_len: int = 4
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    record: bool = True             # write the tables; without them a Round still has every id, p, q, u and verdict

    def __post_init__(self) -> None:
        if self.max_new_tokens < 0:
            raise UserError(f"--max-new-tokens must be 0 or more, not {self.max_new_tokens}.")
        if self.draft_len < 0:
            raise UserError(f"--draft-len must be 0 or more, not {self.draft_len}.")
        if any(not s for s in self.stop):
            raise UserError("--stop must not be empty.")
        if not 0 <= self.seed < 2 ** 63:
            raise UserError(f"--seed must be a whole number from 0 to 2^63 - 1, not {self.seed}.")


class Decoding:
    """One run. Iterate it for its Rounds; afterwards `stop` says why it ended. Breaking off or `close()` frees the caches."""

    def __init__(self, target: Target, proposer: Proposer, prompt: Sequence[int], options: Options, text: Text | NoText | None = None) -> None:
        """Raises UserError for an empty prompt, ids outside the vocabulary, or a prompt that fills the context."""
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
        self.limit = min(options.max_new_tokens, target.max_positions - self.prompt_len)
        self.stop: str | None = None
        self.index = 0
        capacity = self.prompt_len + self.limit
        dtype = torch.float64 if target.dtype == torch.float64 else torch.float32
        self.ctx = Context(self.tokens, options.sampling, torch.Generator(target.device).manual_seed(options.seed), target.vocab_size,
                           capacity, target.device, dtype)
        if options.sampling.repetition_penalty != 1:
            self.ctx.seen = torch.zeros(target.vocab_size, dtype=torch.bool, device=target.device)
            self.ctx.seen[self.tokens] = True
        self.cache = target.new_cache(capacity)
        proposer.begin(self.ctx)
        self.began = time.perf_counter()

    @property
    def new_tokens(self) -> list[int]:
        return self.tokens[self.prompt_len:]

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
        self.cache = None

    @torch.inference_mode()
    def _round(self) -> Round:
        t0 = time.perf_counter()
        left = self.limit - len(self.new_tokens)
        k = min(self.options.draft_len, left - 1) if self.index else 0         # the target adds one token of its own
        draft = self.proposer.propose(self.ctx, k) if k > 0 else None
        if draft is None or not len(draft):
            draft = Draft(torch.empty(0, dtype=torch.long, device=self.ctx.device))
        t1 = time.perf_counter()
        pending = torch.tensor(self.tokens[self.cache.length:], device=self.ctx.device)
        logits = self.target.verify(torch.cat([pending, draft.tokens]), self.cache, len(draft) + 1).to(self.ctx.dtype)
        t2 = time.perf_counter()
        round_ = Round(self.index, len(self.new_tokens), k)
        self._settle(round_, draft, logits)
        self.index += 1
        t3 = time.perf_counter()
        round_.draft_s, round_.verify_s, round_.other_s, round_.elapsed_s = t1 - t0, t2 - t1, t3 - t2, t3 - self.began
        return round_

    def _settle(self, round_: Round, draft: Draft, logits: torch.Tensor) -> None:
        """Laws, verdicts, the round's one wait for the device, and everything the host keeps of it."""
        ctx, n, sampling = self.ctx, len(draft), self.options.sampling
        scored = probs.scores(logits, sampling, None if ctx.seen is None else probs.seen_along(ctx.seen, draft.tokens))
        p = probs.law(scored, sampling)
        q = draft.q if draft.q is not None else verify.one_hot(draft.tokens, ctx.vocab_size, p.dtype)
        u = torch.full((n + 1,), 0.5, dtype=torch.float64, device=ctx.device) if sampling.greedy else ctx.uniforms(n + 1)
        verdict = verify.chain(p, q, draft.tokens, u[:n], u[n])
        own = draft.tokens[:, None]
        packed = {"tokens": draft.tokens, "head": torch.stack([verdict.accepted, verdict.next_id]), "u": u[:n], "threshold": verdict.threshold,
                  "p_x": p[:n].gather(1, own)[:, 0], "q_x": q.gather(1, own)[:, 0]}
        if self.options.record:
            table = record.capture(p, scored, logits, q, draft.logits, draft.tokens)
            packed |= {f"table.{k}": v for k, v in table.items()}
            if n:
                here = verdict.accepted.clamp_max(n)
                packed["residual"] = verdict.residual.gather(0, table["ids"].index_select(0, here.view(1))[0])
        host = fetch(packed)

        tokens, accepted = [int(t) for t in host["tokens"]], int(host["head"][0])
        emitted = [Emitted(t, self.text.piece(t), "accepted") for t in tokens[:accepted]]
        last = int(host["head"][1])
        emitted.append(Emitted(last, self.text.piece(last), "plain" if not n else "bonus" if accepted == n else "recovered"))
        emitted = self._cut(emitted)
        # what was drafted behind the end of the output never mattered: it leaves the record and every count
        keep = n if self.stop is None or len(emitted) > accepted else len(emitted)
        for i in range(keep):
            t, known = tokens[i], not sampling.greedy
            round_.drafted.append(Drafted(t, self.text.piece(t), i - 1, host["p_x"][i], host["q_x"][i], host["u"][i] if known else None,
                                          host["threshold"][i], "accepted" if i < accepted else "rejected" if i == accepted else "not_reached"))
        round_.emitted = emitted
        if self.options.record:
            tables = record.tables({k[6:]: v for k, v in host.items() if k.startswith("table.")}, n, accepted if accepted < n else None,
                                   host.get("residual"), self.text.piece)
            round_.tables = tables if keep == n else tables[:keep]

        ids = [e.id for e in emitted]
        self.tokens += ids
        if ctx.seen is not None:
            ctx.seen[ids] = True
        self.cache.truncate(min(self.cache.length, len(self.tokens) - 1))
        if self.stop is None:
            self.proposer.observe(ctx, accepted)

    def _cut(self, emitted: list[Emitted]) -> list[Emitted]:
        """Drop what lies behind the first EOS, stop string or the limit, and set `stop`."""
        opts, ids = self.options, self.new_tokens
        for i, token in enumerate(emitted, 1):
            ids.append(token.id)
            if token.id in self.target.eos_ids and not opts.ignore_eos:
                self.stop = "eos"
            elif opts.stop and not opts.ignore_eos and any(s in self.text.decode(ids) for s in opts.stop):
                self.stop = "stop_string"
            elif len(ids) >= self.limit:
                self.stop = "length"
            if self.stop:
                return emitted[:i]
        return emitted

    @property
    def output_text(self) -> str:
        """The decoded output, cut before the first stop string."""
        text = self.text.decode(self.new_tokens)
        if self.stop == "stop_string":
            text = text[:min(text.find(s) for s in self.options.stop if s in text)]
        return text
