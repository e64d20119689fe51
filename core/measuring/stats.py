"""Statistics of a run: counts, rates and their denominators, times, peak memory."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from core.trace import Round, Totals


def depths(round_: Round) -> list[int]:
    """Depth of each drafted token, 0 for the root's children; in a chain its index. Forced tokens add none."""
    out: list[int] = []
    for d in round_.drafted:
        out.append((-1 if d.parent < 0 else out[d.parent]) + (not d.forced))
    return out


def totals(rounds: Sequence[Round], text: str, stop: str, peak_memory_bytes: int | None) -> Totals:
    """Rounds of one run -> Totals. `drafted` counts a tree's levels, since a round accepts at most one node a level; `tested` counts nodes.
    Tokens that a grammar forces are certain, so they count for none of the drafts' rates but tokens a round."""
    out = Totals(text=text, stop=stop, rounds=len(rounds), peak_memory_bytes=peak_memory_bytes)
    drafted_at: list[int] = []          # by position: rounds that drafted it
    accepted_at: list[int] = []         # by position: rounds that accepted it
    emitted_by_drafting = drafting = 0
    for r in rounds:
        out.new_tokens += len(r.emitted)
        out.forced += sum(e.forced for e in r.emitted)
        if not r.drafted:
            continue
        levels = max(depths(r)) + 1
        accepted = sum(d.verdict == "accepted" and not d.forced for d in r.drafted)
        rejected = sum(d.verdict == "rejected" for d in r.drafted)
        out.drafted += levels
        out.accepted += accepted
        out.tested += accepted + rejected
        drafting += 1
        emitted_by_drafting += len(r.emitted)
        drafted_at += [0] * (levels - len(drafted_at))
        accepted_at += [0] * (levels - len(accepted_at))
        for i in range(levels):
            drafted_at[i] += 1
            accepted_at[i] += i < accepted
    out.acceptance_rate = out.accepted / out.drafted if out.drafted else None
    out.tested_rate = out.accepted / out.tested if out.tested else None
    out.acceptance_by_position = [a / d for a, d in zip(accepted_at, drafted_at)]
    out.tokens_per_round = emitted_by_drafting / drafting if drafting else None
    if rounds:
        out.ttft_s = rounds[0].elapsed_s
        out.decode_s = rounds[-1].elapsed_s - out.ttft_s
        out.tokens_per_s = out.new_tokens / rounds[-1].elapsed_s
    return out


def plain_record(rounds: Sequence[Round]) -> dict[str, Any]:
    """Rounds of a plain run -> the trace's `plain`."""
    t = totals(rounds, "", "length", None)
    return {"ttft_s": t.ttft_s, "decode_s": t.decode_s, "tokens_per_s": t.tokens_per_s, "elapsed_s": [r.elapsed_s for r in rounds],
            "texts": [e.text for r in rounds for e in r.emitted]}


class PeakMemory:
    """Peak memory use since this object was made: the GPU's allocations, or this process's resident set; None if that cannot be reset."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.known = True
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            try:
                Path("/proc/self/clear_refs").write_text("5")       # Linux: reset the peak, which otherwise never falls
            except OSError:
                self.known = False

    def bytes(self) -> int | None:
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        if not self.known:
            return None
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return None
