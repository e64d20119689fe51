"""The recorder: both laws at every position of a pass, cut to the likeliest ids, as tensors first and as trace tables after."""
from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from core.trace import Table

TOP = 10
BLOCK = 128


def top_ids(scored: Tensor, n: int = TOP) -> Tensor:
    """Ids of the n largest of [rows, V], largest first. A row's n largest lie in the n blocks with the largest maxima."""
    rows, size = scored.shape
    n = min(n, size)
    if size <= 4 * BLOCK * n:
        return scored.topk(n, -1).indices
    whole = size // BLOCK * BLOCK
    blocks = scored[:, :whole].view(rows, -1, BLOCK)
    best = blocks.amax(-1).topk(n, -1).indices                                     # [rows, n]
    found = blocks.gather(1, best[..., None].expand(rows, n, BLOCK)).view(rows, -1)
    ids = (best[..., None] * BLOCK + torch.arange(BLOCK, device=scored.device)).view(rows, -1)
    if whole < size:
        tail = torch.arange(whole, size, device=scored.device).expand(rows, -1)
        found, ids = torch.cat([found, scored[:, whole:]], 1), torch.cat([ids, tail], 1)
    return ids.gather(1, found.topk(n, -1).indices)


def capture(p: Tensor, scored: Tensor, logits: Tensor, q: Tensor | None, q_logits: Tensor | None, drafted: Tensor) -> dict[str, Tensor]:
    """Everything the tables need of one pass: p, scored, logits [n+1, V]; q, q_logits [n, V]; drafted [n]. No waiting.

    Position i of the pass has the law q[i] and the drafted id drafted[i] in a chain; the last has neither.
    """
    n = drafted.shape[0]
    if not n:
        ids = top_ids(scored)
        return {"ids": ids, "p": p.gather(1, ids), "logit_p": logits.gather(1, ids)}
    own = drafted[:, None]
    q_top = top_ids(q_logits if q_logits is not None else q)
    ids = torch.cat([top_ids(scored), torch.cat([torch.cat([q_top, own], 1), own.new_zeros(1, q_top.shape[1] + 1)])], 1)
    out = {"ids": ids, "p": p.gather(1, ids), "logit_p": logits.gather(1, ids), "q": q.gather(1, ids[:n]),
           "overlap": torch.minimum(p[:n], q).sum(-1)}
    if q_logits is not None:
        out["logit_q"] = q_logits.gather(1, ids[:n])
    return out


def tables(host: dict[str, list], n: int, residual_at: int | None, residual: list[float] | None,
           text: Callable[[int], str]) -> list[Table]:
    """Fetched `capture` of a chain of n -> its tables. `residual` lists the law resampled from at position `residual_at`."""
    out = []
    for i in range(n + 1):
        drafted_here = i < n
        columns = range(len(host["ids"][i]) if drafted_here else TOP if n else len(host["ids"][i]))
        first: dict[int, int] = {}
        for column in columns:                                                     # p's list, q's list and the drafted id overlap
            first.setdefault(int(host["ids"][i][column]), column)
        p = {t: host["p"][i][c] for t, c in first.items()}
        q = {t: host["q"][i][c] for t, c in first.items()} if drafted_here else None
        order = sorted(first, key=lambda t: (-max(p[t], q[t] if q else 0.0), -host["logit_p"][i][first[t]]))
        out.append(_table(i - 1, order, p, q, host, i, first, residual if i == residual_at else None, text))
    return out


def _table(after: int, order: list[int], p: dict[int, float], q: dict[int, float] | None, host: dict[str, list], i: int,
           first: dict[int, int], residual: list[float] | None, text: Callable[[int], str]) -> Table:
    columns = [first[t] for t in order]
    overlap = host["overlap"][i] if q is not None else None
    rest = [residual[c] for c in columns] if residual is not None else None
    others = {"p": short(max(0.0, 1 - sum(p.values()))), "q": None, "overlap": None, "residual": None}
    if q is not None:
        others["q"] = short(max(0.0, 1 - sum(q.values())))
        others["overlap"] = short(max(0.0, overlap - sum(min(p[t], q[t]) for t in order)))
    if rest is not None:
        others["residual"] = short(max(0.0, 1 - sum(rest)))
    logit_q = host.get("logit_q")
    return Table(after=after, ids=order, texts=[text(t) for t in order], p=[short(p[t]) for t in order],
                 q=[short(q[t]) for t in order] if q is not None else None,
                 residual=[short(x) for x in rest] if rest is not None else None,
                 logit_p=[short(host["logit_p"][i][c]) for c in columns],
                 logit_q=[short(logit_q[i][c]) for c in columns] if q is not None and logit_q is not None else None,
                 overlap=short(overlap) if overlap is not None else None, others=others)


def short(x: float) -> float | None:
    """Six significant digits keep a trace small; what is not a number in JSON (-inf: an id the draft cannot emit) is None."""
    return float(f"{x:.6g}") if math.isfinite(x) else None
