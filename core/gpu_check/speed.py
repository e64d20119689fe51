"""Costs of a shape in the serving dtype: passes, draft steps, the overhead of a round, and the speed-up that these costs allow."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.decoding.draft_length import pass_seconds
from core.gpu_check import measure, shapes
from core.gpu_check.identity import PROMPT
from core.gpu_check.shapes import Shape
from core.measuring import costs, stats, theory
from core.methods import registry
from core.models.target import graph_runner

LENGTHS = (1, 2, 4, 8, 16, 32)
ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9)
NEW_TOKENS = 64
REPEATS = 10
LONGEST = 16                # longest draft that a projection considers
SPARE = 2 << 30             # bytes left for caches, activations and captured graphs
METHODS = {"draft": {}, "eagle": {}, "medusa": {"tree": "chain"}, "lookup": {}, "suffix": {}, "early-exit": {}}
PARTIAL = ("early-exit",)   # methods whose draft has already run a part of the target's pass


def check(shape: Shape, dtype: torch.dtype, device: torch.device, bytes_per_s: float, free: int, limit_s: float,
          report: Callable[[str], None]) -> tuple[dict[str, Any] | None, list[str]]:
    """(the shape's record, or None if it does not fit; what was skipped and why). free: bytes of memory that may be used."""
    end, skipped = time.perf_counter() + limit_s, []
    need = shapes.parameters(shape.target) * dtype.itemsize + SPARE
    if need > free:
        return None, [f"{shape.name}: needs {need / 1e9:.1f} GB, {free / 1e9:.1f} GB are free"]
    report(f"{shape.name}: weights")
    memory = stats.PeakMemory(device)
    pair = shapes.target_pair(shape, dtype, device)
    left = free - need
    model = pair.target.model
    drafts = {"draft": (shapes.parameters(shape.draft), lambda: shapes.random_decoder(shape.draft, dtype, device, 1)),
              "eagle": (shapes.eagle_parameters(shape.target), lambda: shapes.random_eagle(model)),
              "medusa": (shapes.medusa_parameters(shape.target), lambda: shapes.random_medusa(model))}
    for name, (numbers, make) in drafts.items():
        if numbers * dtype.itemsize > left:
            skipped.append(f"{shape.name} {name}: needs {numbers * dtype.itemsize / 1e9:.1f} GB more, {left / 1e9:.1f} GB are free")
            continue
        shapes.give(pair, name, make())
        left -= numbers * dtype.itemsize
    report(f"{shape.name}: passes")
    read = shapes.read_bytes(shape.target, dtype)
    out = {"shape": shape.name, "dtype": str(dtype).removeprefix("torch."), "weights_bytes": costs.weights_bytes(pair.target), "read_bytes": read,
           "draft": shape.draft_name, "captured_chains": model.flash_refusal or "flash attention", "passes": {}, "methods": []}
    for graph in (False, True) if device.type == "cuda" else (False,):
        times = costs.passes(pair.target, LENGTHS, REPEATS, graph_runner(pair.target, graph))
        out["passes"]["graphs" if graph else "eager"] = {
            "ms": {str(k): 1e3 * s for k, s in times.items()}, "share_of_bandwidth": read / bytes_per_s / times[1]}
    for graphs in measure.MODES:
        out["methods"] += _methods(pair, graphs, out["passes"], end, skipped, report)
    out["peak_memory_bytes"] = memory.bytes()
    return out, skipped


def _methods(pair: Pair, graphs: bool, passes: dict[str, Any], end: float, skipped: list[str],
             report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Records of all methods. Plain comes first, since projections are relative to its round."""
    table = {k: ms / 1e3 for k, ms in passes["graphs" if graphs and "graphs" in passes else "eager"]["ms"].items()}
    found, plain_s = [], None
    for name in ("plain", *METHODS):
        method = registry.get(name)
        if method.needs and method.needs not in pair.drafts:
            continue
        label = f"{pair.name} {name}, graphs {'on' if graphs else 'off'}"
        if time.perf_counter() > end:
            skipped.append(f"{label}: the time was over")
            continue
        report(label)
        one = _one(pair, method, METHODS.get(name, {}), graphs, table, end)
        if name == "plain":
            plain_s = one["round_ms"] and one["round_ms"] / 1e3
        elif plain_s and one["draft_step_ms"] is not None and one["overhead_ms"] is not None:
            one["projection"] = project(one["draft_step_ms"] / 1e3, table, max(0.0, one["overhead_ms"] / 1e3), plain_s,
                                        shapes.MEDUSA_HEADS if name == "medusa" else LONGEST)
        found.append(one)
    return found


def _one(pair: Pair, method: registry.Method, settings: dict[str, Any], graphs: bool, table: dict[int, float], end: float) -> dict[str, Any]:
    """The record of one method. overhead: the time of a round beyond its draft steps and its target pass, with graphs beyond their replays;
    None where the pass is only a part of the target's and no replay was timed."""
    for _ in range(measure.warm_ups(graphs)):
        measure.decode(pair, method, settings, graphs, PROMPT, NEW_TOKENS, max(1.0, end - time.perf_counter()))
    run = measure.decode(pair, method, settings, graphs, PROMPT, NEW_TOKENS, max(1.0, end - time.perf_counter()))
    k = max((len(r.drafted) for r in run.rounds), default=0)
    step = measure.draft_step(pair, method, settings, graphs)
    if len(run.graphs_s) == 2 and k:
        step = run.graphs_s[0] / k              # the two replays are the draft and the verification
    overhead = None
    if run.round_s is not None and (run.graphs_s or method.name not in PARTIAL):
        inside = sum(run.graphs_s) if run.graphs_s else k * (step or 0.0) + pass_seconds(table, k + 1)
        overhead = run.round_s - inside
    return {"method": method.name, "graphs": graphs, "drafted_a_round": k, "round_ms": _ms(run.round_s), "draft_step_ms": _ms(step),
            "graph_replays_ms": [1e3 * s for s in run.graphs_s], "overhead_ms": _ms(overhead), "complete": run.complete}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def project(step_s: float, passes: dict[int, float], overhead_s: float, plain_s: float,
            longest: int = LONGEST) -> dict[str, dict[str, float]]:
    """alpha -> the best chain length and its speed-up (theory.speedup) at these costs. A projection: no acceptance was measured.

    A round costs k draft steps, a pass over k + 1 tokens and its overhead; plain_s: seconds of a whole round of plain decoding.
    """
    v = [1.0] + [(pass_seconds(passes, k + 1) + overhead_s) / plain_s for k in range(1, longest + 1)]
    best = {alpha: theory.best_length(alpha, step_s / plain_s, v) for alpha in ALPHAS}
    return {f"{alpha:g}": {"k": k, "speedup": gain} for alpha, (k, gain) in best.items()}
