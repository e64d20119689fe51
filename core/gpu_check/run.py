"""The whole check, each part within its share of the time, and its table."""
from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from core.gpu_check import identity, measure, shapes, speed
from core.runs import runner

SECONDS = 420.0             # time limit: the check must end within eight minutes, with start-up
VERSION = 1
PASS_AIM, OVERHEAD_AIM_MS = 1.3, 0.3        # see `aims`


def check(device: torch.device, seconds: float = SECONDS, which: Sequence[shapes.Shape] = shapes.SHAPES, dtype: torch.dtype = torch.bfloat16,
          report: Callable[[str], None] = lambda message: None, copied: int = 1 << 30) -> dict[str, Any]:
    """The record that `specscope check gpu --json` writes. `skipped` lists what there was no time or memory for.

    Identity may take a third of the time; each shape gets an equal share of the rest. which: the shapes; copied: bytes for the bandwidth.
    """
    began = time.perf_counter()
    report("copy bandwidth")
    out: dict[str, Any] = {"version": VERSION, "device": _device(device), "software": runner.software(),
                           "bandwidth_bytes_per_s": measure.bandwidth(device, copied), "identity": [], "shapes": [], "skipped": []}
    report("identity in float64")
    out["identity"], late = identity.check(device, seconds / 3)
    out["skipped"] += [f"identity of {label}: the time was over" for label in late]
    for i, shape in enumerate(which):
        share = (seconds - (time.perf_counter() - began)) / (len(which) - i)
        if share < 2:
            out["skipped"].append(f"{shape.name}: the time was over")
            continue
        try:
            record, skipped = speed.check(shape, dtype, device, out["bandwidth_bytes_per_s"], _free(device), share, report)
        except torch.OutOfMemoryError:
            record, skipped = None, [f"{shape.name}: the device's memory did not suffice after all"]
        out["shapes"] += [record] if record else []
        out["skipped"] += skipped
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
    out["seconds"] = time.perf_counter() - began
    return out


def _device(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {"name": str(device)}
    about = torch.cuda.get_device_properties(device)
    return {"name": about.name, "memory_bytes": about.total_memory, "capability": f"{about.major}.{about.minor}", "cuda": torch.version.cuda}


def _free(device: torch.device) -> int:
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 1 << 62


def passed(result: dict[str, Any]) -> bool:
    """Whether every run gave plain decoding's tokens and waited for the device once a round, and only in host_copy.wait."""
    return all(r["equal"] and _waits_once(r) for r in result["identity"])


def _waits_once(r: dict[str, Any]) -> bool:
    return r["waits_per_round"] <= 1 and not r["syncs_elsewhere"]


def table(result: dict[str, Any]) -> str:
    """The record as text with columns, for a terminal."""
    lines = [f"{result['device']['name']}, torch {result['software']['torch']}; copies move {result['bandwidth_bytes_per_s'] / 1e9:.0f} GB/s "
             "(read and written)"]
    runs = result["identity"]
    lines.append(f"\nidentity, float64: {sum(r['equal'] for r in runs)} of {len(runs)} runs give plain decoding's tokens, "
                 f"{sum(map(_waits_once, runs))} wait for the device once a round and nowhere else")
    lines += _columns(["run", "graphs", "equal", "accepted", "waits/round", "other syncs"], [
        [r["run"], _switch(r["graphs"]), "yes" if r["equal"] else "NO", f"{r['accepted']}/{r['drafted']}", f"{r['waits_per_round']:.2f}",
         "not seen on a CPU" if r["syncs_elsewhere"] is None else " ".join(f"{p} x{n}" for p, n in r["syncs_elsewhere"].items()) or "none"]
        for r in runs])
    for s in result["shapes"]:
        lines += _shape(s)
    lines += ["\nskipped:", *(f"  {what}" for what in result["skipped"])] if result["skipped"] else []
    lines.append(f"\n{result['seconds']:.0f} s")
    return "\n".join(lines)


def _shape(s: dict[str, Any]) -> list[str]:
    peak = f", peak memory {s['peak_memory_bytes'] / 1e9:.1f} GB" if s["peak_memory_bytes"] else ""
    lines = [f"\n{s['shape']}, {s['dtype']}, random weights: {s['weights_bytes'] / 1e9:.2f} GB{peak}; draft model: {s['draft']}",
             f"  attention of captured chains: {s['captured_chains']}"]
    lengths = [str(k) for k in speed.LENGTHS]
    lines += _columns(["ms a pass over", *lengths, "weights/bandwidth"], [
        [kind, *(f"{p['ms'][k]:.2f}" for k in lengths), f"{p['share_of_bandwidth']:.0%} of pass 1"] for kind, p in s["passes"].items()])
    alphas = [f"{a:g}" for a in speed.ALPHAS]
    lines.append(f"  projected speed-up at acceptance {alphas[0]} to {alphas[-1]}: from these costs and the closed form, not measured")
    lines += _columns(["method", "graphs", "ms/round", "draft step", "overhead", *alphas], [
        [m["method"], _switch(m["graphs"]), *("-" if m[x] is None else f"{m[x]:.2f}" for x in ("round_ms", "draft_step_ms", "overhead_ms")),
         *(f"{m['projection'][a]['speedup']:.2f}x k={m['projection'][a]['k']}" if "projection" in m else "-" for a in alphas)]
        for m in s["methods"]])
    return lines + aims(s)


def aims(s: dict[str, Any]) -> list[str]:
    """A line that says whether this project's two aims for captured rounds are met; no line if nothing was captured."""
    if "graphs" not in s["passes"]:
        return []
    over = 1 / s["passes"]["graphs"]["share_of_bandwidth"]
    said = [f"pass 1 within {PASS_AIM}x of weights/bandwidth: {over:.2f}x, {_met(over <= PASS_AIM)}"]
    outside = [m["overhead_ms"] for m in s["methods"] if m["graphs"] and m["overhead_ms"] is not None]
    if outside:
        said.append(f"at most {OVERHEAD_AIM_MS} ms a round outside them: {max(outside):.2f} ms, {_met(max(outside) <= OVERHEAD_AIM_MS)}")
    return [f"  aims with graphs: {'; '.join(said)}"]


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def _switch(graphs: bool) -> str:
    return "on" if graphs else "off"


def _columns(head: list[str], rows: list[list[str]]) -> list[str]:
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, wide)).rstrip() for row in [head, *rows]]
