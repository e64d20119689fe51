"""Measures this machine's costs: seconds of a target pass over k tokens and of a draft step (medians), and the best number of threads."""
from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.decoding.round_result import RoundResult
from core.decoding.verification import Verification
from core.methods.base import Context, Draft, Proposer, SamplingContext
from core.models import host_copy
from core.models.graphs import GraphRunner
from core.models.target import Target, graph_runner
from core.sampling.probs import Sampling
from core.trace import Round

CONTEXT = 64        # tokens in the cache while measuring
GAIN = 0.9          # more threads are used only if they save at least 10 %: on shared cores they can cost more than they save


def choose_threads(target: Target, spare: int = 0) -> int:
    """Time 1, 2, 4, ... threads (all cores but `spare` at most); set and return the fastest number. Changes nothing with a GPU."""
    if target.device.type != "cpu":
        return torch.get_num_threads()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most, best, best_s = max(1, cores - spare), 1, float("inf")
    n = 1
    while n <= most:
        torch.set_num_threads(n)
        seconds = pass_seconds(target, min(2, target.max_positions), 3)
        if seconds < GAIN * best_s:
            best, best_s = n, seconds
        n = most if n < most < 2 * n else 2 * n
    torch.set_num_threads(best)
    return best


def measure(target: Target, proposer: Proposer, verify: dict[str, float] | None = None, lengths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 11),
            repeats: int = 5, runner: GraphRunner | None = None) -> dict[str, Any]:
    """Costs for the trace, in seconds: plain_step_s, verify_s {tokens of the pass: s}, draft_step_s (None if nothing is drafted), other_s
    {tokens of the pass: s}, what a round takes besides: distributions, verification, the record.

    verify: `verify_s` measured before on this target; it is the same for every method. runner: the run's, since captured passes and
    direct ones take different times.
    """
    verify = verify or {str(k): s for k, s in passes(target, lengths, repeats, runner).items()}
    return {"plain_step_s": verify["1"], "verify_s": verify, "draft_step_s": draft_seconds(target, proposer, repeats, runner=runner),
            "other_s": {str(k): s for k, s in overhead(target, repeats).items()}}


def calibrate(target: Target, repeats: int = 5) -> dict[str, Any]:
    """What decides whether speculation pays here: pass_s (seconds over 1, 2, 4, ... 32 tokens), bytes of weights, bytes per second of memory."""
    lengths = [k for k in (1, 2, 4, 8, 16, 32) if k < target.max_positions]
    return {"pass_s": {str(k): s for k, s in passes(target, lengths, repeats).items()}, "weights_bytes": weights_bytes(target),
            "memory_bytes_per_s": memory_speed(target.device), "threads": torch.get_num_threads(), "device": str(target.device)}


def weights_bytes(target: Target) -> int:
    """Bytes of all weights, which one pass reads once."""
    modules = list(target.model.modules())
    packed = sum(getattr(m, "packed_bytes", 0) for m in modules)
    unread = target.model.embed.nbytes if getattr(getattr(target.model, "head", None), "kernel", None) is not None else 0     # rows are looked up
    return packed + sum(p.nbytes for p in target.model.parameters()) - unread


def memory_speed(device: torch.device, size: int = 256 << 20) -> float:
    """Bytes per second that this device reads from memory: the sum of a tensor larger than its caches, best of three."""
    block = torch.ones(size // 4, dtype=torch.float32, device=device)
    best = float("inf")
    for _ in range(3):
        best = min(best, _median(block.sum, 1, device))
    return size / best


def pass_seconds(target: Target, k: int, repeats: int) -> float:
    """Median seconds of one pass over k tokens after CONTEXT cached ones, with the logits of all k."""
    return passes(target, (k,), repeats)[k]


@dataclass(frozen=True)
class Pass:
    """A captured function: one target pass over k tokens with all their logits."""
    target: Target
    k: int

    def __call__(self, cache: Any, ids: Tensor) -> tuple:
        return (self.target.verify(ids, cache, self.k)[0],)


@torch.inference_mode()
def passes(target: Target, lengths: Sequence[int], repeats: int, runner: GraphRunner | None = None) -> dict[int, float]:
    """Median seconds of a pass over each number of tokens that the target's context holds, measured in turns, so that a busy moment of the
    machine affects all alike."""
    runner = runner or graph_runner(target, None)
    lengths = [k for k in lengths if k <= target.max_positions]
    longest = max(lengths)
    length = max(0, min(CONTEXT, target.max_positions - longest))
    model = getattr(target, "model", target)
    cache = runner.lend(model, length + longest)
    if length:
        target.verify(torch.zeros(length, dtype=torch.long, device=target.device), cache, 1)
    ids = torch.zeros(longest, dtype=torch.long, device=target.device)
    times: dict[int, list[float]] = {k: [] for k in lengths}
    warm = 1 + runner.direct_first                   # the first pass of each length warms up; direct ones come before a capture
    for n in range(warm + repeats):
        for k, spent in times.items():
            seconds = _timed(lambda k=k: runner.run(Pass(target, k), cache, k, ids[:k]), target.device)
            cache.truncate(length)
            if n >= warm:
                spent.append(seconds)
    runner.give_back(model, cache)
    return {k: statistics.median(spent) for k, spent in times.items()}


@torch.inference_mode()
def overhead(target: Target, repeats: int, lengths: Sequence[int] = (1, 5)) -> dict[int, float]:
    """Median seconds of verifying a greedy chain, with its record, after a pass over each number of tokens."""
    out = {}
    for k in lengths:
        logits = torch.zeros(k, target.vocab_size, device=target.device)
        logits[:, 0] = 1
        draft = Draft(torch.zeros(k - 1, dtype=torch.long, device=target.device))
        verification = Verification(None, SamplingContext(Sampling(), target.vocab_size, torch.float32))

        def once(draft=draft, logits=logits, verification=verification) -> None:
            flat, layout, _ = verification.accept(draft, None, logits, None, None)
            result = RoundResult.of(host_copy.wait(host_copy.start_copy(flat, layout)))
            result.write(Round(0, 0, len(draft)), len(result.ids), True, True, str)

        out[k] = _median(once, repeats, target.device, _pass_before(target))
    return out


def _pass_before(target: Target) -> Callable[[], None]:
    """A target pass over one token: it fills the caches of a CPU with the target's weights, as before every step of a real round."""
    cache, token = target.new_cache(1), torch.zeros(1, dtype=torch.long, device=target.device)

    def act() -> None:
        cache.truncate(0)
        target.verify(token, cache, 1)

    return act


@torch.inference_mode()
def draft_seconds(target: Target, proposer: Proposer, repeats: int, k: int = 4, runner: GraphRunner | None = None) -> float | None:
    """Median seconds per drafted token (in a tree: per level) when k are drafted after CONTEXT tokens; None if the proposer drafts nothing."""
    proposer = proposer.costly
    room = min(target.max_positions, proposer.max_positions or target.max_positions)
    length = min(CONTEXT, room - k)
    if length <= 0:
        return None
    runner = runner or graph_runner(target, None)
    ctx = Context([0] * length, Sampling(), torch.Generator(target.device), target.vocab_size, length + k, target.device, torch.float32,
                  target, None, runner=runner)
    ctx.cache = ctx.new_cache(getattr(target, "model", target), length + k)
    if length > 1:
        ctx.hidden_states = target.verify(torch.zeros(length - 1, dtype=torch.long, device=target.device), ctx.cache, 1, None, proposer.aux_layers)[1]
    proposer.begin(ctx)
    try:
        proposer.observe(ctx, [])
        first = proposer.propose(ctx, k)        # this one also reads the context; the later, timed ones do not
        if first is None or not len(first):
            return None
        ctx.hidden_states = {layer: rows[-1:] for layer, rows in ctx.hidden_states.items()}

        def once() -> None:
            proposer.observe(ctx, [])           # as after a round that emitted the last token: it reads one token, then k - 1 drafted ones
            proposer.propose(ctx, k)

        for _ in range(runner.direct_first):
            once()
        return _median(once, repeats, target.device, _pass_before(target)) / (first.levels or len(first))
    finally:
        proposer.end()
        ctx.give_back()


def _median(once: Callable[[], object], repeats: int, device: torch.device, before: Callable[[], None] = lambda: None) -> float:
    """Median seconds of once(), each time after before(), which is not timed."""
    once()
    spent = []
    for _ in range(repeats):
        before()
        spent.append(_timed(once, device))
    return statistics.median(spent)


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done all its work; nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _timed(once: Callable[[], object], device: torch.device) -> float:
    synchronize(device)
    start = time.perf_counter()
    once()
    synchronize(device)
    return time.perf_counter() - start
