"""Timing runs and counting synchronisations on the device. On a CPU, as in the tests, a clock takes the place of CUDA events."""
from __future__ import annotations

import dataclasses
import statistics
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.decoding.loop import Decoding, Options
from core.measuring import costs
from core.methods.registry import Method
from core.models import host_copy
from core.models.target import graph_runner
from core.trace import Round

MODES = (False, True)       # values of Options.graphs to try
SYNC = "called a synchronizing CUDA operation"      # the text of torch's warning under set_sync_debug_mode("warn")


def options(n: int, graphs: bool, **more: Any) -> Options:
    """Options of a measured run: exactly n tokens, recorder off."""
    return Options(max_new_tokens=n, ignore_eos=True, record=False, graphs=graphs, **more)


@dataclasses.dataclass
class Watch:
    """How often the host waited for the device: in core.models.host_copy, and elsewhere (None where torch cannot report that)."""
    waits: int = 0
    elsewhere: dict[str, int] | None = None     # file:line -> times


@contextmanager
def watched(device: torch.device) -> Iterator[Watch]:
    """Counts the waits inside. In mode "warn" (not "error") one run finds every place, and the one intended wait is allowed."""
    watch, before = Watch(), host_copy.waits
    cuda = device.type == "cuda"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if cuda:
            torch.cuda.set_sync_debug_mode("warn")
        try:
            yield watch
        finally:
            if cuda:
                torch.cuda.set_sync_debug_mode("default")
            watch.waits = host_copy.waits - before
            if cuda:
                watch.elsewhere = _places(seen)


def _places(seen: Sequence[warnings.WarningMessage]) -> dict[str, int]:
    """Synchronisations outside core/models/host_copy.py: file:line -> times."""
    found = Counter((w.filename, w.lineno) for w in seen if SYNC in str(w.message))
    own = str(Path(host_copy.__file__))
    return {f"{'/'.join(Path(name).parts[-2:])}:{line}": n for (name, line), n in found.items() if name != own}


def seconds(act: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Median seconds of `act` after one warm-up; on CUDA between two events, so without the host's work after the last launch."""
    act()
    spent = []
    for _ in range(repeats):
        costs.synchronize(device)
        if device.type == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            act()
            end.record()
            end.synchronize()
            spent.append(start.elapsed_time(end) / 1e3)
        else:
            began = time.perf_counter()
            act()
            spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def bandwidth(device: torch.device, size: int = 1 << 30) -> float:
    """Bytes per second of a copy within the device's memory, counting both bytes read and bytes written."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    copy = torch.empty_like(source)
    return 2 * size / seconds(lambda: copy.copy_(source), device, 5)


def warm_ups(graphs: bool) -> int:
    """Number of runs before a measured one. With graphs two: a function is captured at its second call (GraphRunner.direct_first)."""
    return 2 if graphs else 1


def draft_step(pair: Pair, method: Method, settings: dict[str, Any], graphs: bool) -> float | None:
    """Median seconds per drafted token; None if nothing is drafted."""
    runner = graph_runner(pair.target, graphs)
    return costs.draft_seconds(pair.target, method.proposer(pair, settings), 5, runner=runner) if method.drafts else None


@contextmanager
def replays(device: torch.device) -> Iterator[list[tuple[Any, Any]]]:
    """Collects (start, end) events of every CUDA graph replay inside; none on a CPU."""
    events: list[tuple[Any, Any]] = []
    if device.type != "cuda":
        yield events
        return
    original = torch.cuda.CUDAGraph.replay

    def replay(self) -> None:
        pair = tuple(torch.cuda.Event(enable_timing=True) for _ in range(2))
        pair[0].record()
        original(self)
        pair[1].record()
        events.append(pair)

    torch.cuda.CUDAGraph.replay = replay
    try:
        yield events
    finally:
        torch.cuda.CUDAGraph.replay = original


@dataclasses.dataclass
class Decoded:
    """One timed run. Seconds are medians over the rounds with the longest drafts, without the first of these."""
    tokens: list[int]
    rounds: list[Round]
    round_s: float | None
    graphs_s: list[float]           # of a round's graph replays in order; empty without graphs
    complete: bool                  # whether it ended before the time limit


def decode(pair: Pair, method: Method, settings: dict[str, Any], graphs: bool, prompt: list[int], n: int, limit_s: float = 1e9,
           **more: Any) -> Decoded:
    """Decode n tokens, greedily unless `more` has other options, recorder off; stop after limit_s seconds."""
    device = pair.target.device
    proposer = method.proposer(pair, settings)
    proposer.forget()
    rounds, walls, graph_s = [], [], []
    decoding = Decoding(pair.target, proposer, prompt, options(n, graphs, **more), pair.text)
    end = time.perf_counter() + limit_s
    with replays(device) as events:
        steps = iter(decoding)
        try:
            while True:
                began, first = time.perf_counter(), len(events)
                round_ = next(steps, None)
                if round_ is None:
                    break
                walls.append(time.perf_counter() - began)
                rounds.append(round_)
                graph_s.append(events[first:])
                if walls and time.perf_counter() > end:
                    break
        finally:
            steps.close()
        costs.synchronize(device)
    longest = max((len(r.drafted) for r in rounds), default=0)
    full = [i for i, r in enumerate(rounds) if i and len(r.drafted) == longest][1:]
    by_place: dict[int, list[float]] = defaultdict(list)
    for i in full:
        for place, (start, stop) in enumerate(graph_s[i]):
            by_place[place].append(start.elapsed_time(stop) / 1e3)
    return Decoded(decoding.new_tokens, rounds, statistics.median(walls[i] for i in full) if full else None,
                   [statistics.median(times) for times in by_place.values()], decoding.stop != "cancelled")
