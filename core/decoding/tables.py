"""The recorder: p and q at every position of a pass, cut to the likeliest ids. `capture` gathers tensors, `tables` makes trace tables of them.

Position 0 is the root (the last emitted token), position i + 1 comes after drafted node i. What concerns the draft is stored by node, so
that chains and trees need the same code.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from core.sampling import mask
from core.sampling.probs import Sampling
from core.trace import Table

TOP = 10        # ids listed of each distribution
BLOCK = 128     # ids a block in top_ids
REMOVED = 3     # ids listed of those that a mask removes ...
LEAST = 0.0005          # ... where they had so much probability
Host = dict[str, list]


def top_ids(scored: Tensor, n: int = TOP) -> Tensor:
    """Ids [rows, n] of the n largest of [rows, V], largest first. They lie in the n blocks with the largest maxima, so only these are searched."""
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


def capture(p: Tensor, scored: Tensor, logits: Tensor, q: Tensor | None, q_scored: Tensor | None, q_logits: Tensor | None, drafted: Tensor,
            parents: Tensor | None, residual: Tensor) -> dict[str, Tensor]:
    """All values of one pass that the tables need, as tensors on the device; does not wait.

    p, scored, logits [N+1, V]: the target's distributions, penalised and raw logits; drafted [N]; parents [N], None for a chain; residual
    [V]. q, q_scored, q_logits [N, V]: the same of the draft; q None where it is one-hot, the others None where it has no logits.
    """
    n = drafted.shape[0]
    ids = top_ids(scored)
    out = {"ids": ids, "p": p.gather(1, ids), "lp": logits.gather(1, ids)}
    if not n:
        return out
    rows = slice(0, n) if parents is None else parents + 1
    p_here, logits_here, own = p[rows], logits[rows], drafted[:, None]
    out |= {"x_lp": logits_here.gather(1, own)[:, 0], "x_res": residual[drafted], "res": residual[ids]}
    if q is not None:
        q_ids = top_ids(q if q_scored is None else q_scored)     # scores also order the ids to which a one-hot or truncated q gives 0
        out |= {"q_ids": q_ids, "q_q": q.gather(1, q_ids), "q_p": p_here.gather(1, q_ids), "q_lp": logits_here.gather(1, q_ids),
                "q_res": residual[q_ids], "p_q": q.gather(1, ids[rows]), "overlap": torch.minimum(p_here, q).sum(-1)}
    if q is not None and q_logits is not None:
        out |= {"q_lq": q_logits.gather(1, q_ids), "p_lq": q_logits.gather(1, ids[rows]), "x_lq": q_logits.gather(1, own)[:, 0]}
    return out


def removed(scored: Tensor, allowed: Tensor, sampling: Sampling) -> dict[str, Tensor]:
    """What a grammar's mask removes at each position, as tensors on the device: how many ids stay, the mass of the unmasked distribution on the
    others, and the likeliest of these. scored [N+1, V] before the mask; allowed [N+1, V] bool."""
    gone = mask.unmasked(scored, sampling).masked_fill(allowed, 0)
    ids = top_ids(gone, REMOVED)
    return {"mask.allowed": allowed.sum(-1), "mask.removed": gone.sum(-1), "mask.ids": ids, "mask.p": gone.gather(1, ids)}


def masks(host: Host, text: Callable[[int], str]) -> list[dict[str, Any]]:
    """The values of `removed` -> for each position what the trace's tables say of its mask. Ids that had no probability are left out."""
    out = []
    for count, mass, ids, p in zip(host["mask.allowed"], host["mask.removed"], host["mask.ids"], host["mask.p"]):
        shown = [(int(t), x) for t, x in zip(ids, p) if x >= LEAST]
        out.append({"allowed": int(count), "removed": short(min(1.0, mass)), "ids": [t for t, _ in shown], "texts": [text(t) for t, _ in shown],
                    "p": [short(x) for _, x in shown]})
    return out


def tables(host: Host, tokens: list[int], parents: list[int], p_x: list[float], q_x: list[float], resampled_at: int | None,
           text: Callable[[int], str]) -> list[Table]:
    """The values of `capture` for N nodes -> N + 1 tables. p_x, q_x: each node's own p and q; resampled_at: position of the recovered token."""
    out = []
    for row in range(len(tokens) + 1):
        children = [i for i, parent in enumerate(parents) if parent == row - 1]
        entries = _entries(host, row, children, tokens, p_x, q_x)
        order = sorted(entries, key=lambda t: (-max(entries[t][0], entries[t][1]), -entries[t][2]))
        overlap = None
        if children:
            overlap = host["overlap"][children[0]] if "overlap" in host else sum(p_x[i] for i in children)
        out.append(_table(row - 1, order, [entries[t] for t in order], overlap, "x_lq" in host, row == resampled_at, text))
    return out


Entry = tuple[float, float, float, float, float]       # p, q, logit p, logit q, residual


def _entries(host: Host, row: int, children: list[int], tokens: list[int], p_x: list[float], q_x: list[float]) -> dict[int, Entry]:
    """The union of p's list, of the first child's q list and of the drafted children at one position."""
    none = -math.inf            # becomes null: this id has no such logit
    res = host.get("res", host["p"])[row]
    drawn, known = bool(children) and "q_ids" in host, bool(children) and "x_lq" in host
    first = children[0] if children else 0
    entries: dict[int, Entry] = {}
    for c, t in enumerate(host["ids"][row]):
        q, lq = host["p_q"][first][c] if drawn else 0.0, host["p_lq"][first][c] if known else none
        entries[int(t)] = (host["p"][row][c], q, host["lp"][row][c], lq, res[c])
    if drawn:
        for c, t in enumerate(host["q_ids"][first]):
            lq = host["q_lq"][first][c] if known else none
            entries.setdefault(int(t), (host["q_p"][first][c], host["q_q"][first][c], host["q_lp"][first][c], lq, host["q_res"][first][c]))
    for i in children:
        lq = host["x_lq"][i] if known else none
        entries[tokens[i]] = (p_x[i], entries[tokens[i]][1] if drawn and i != first and tokens[i] in entries else q_x[i],
                              host["x_lp"][i], lq, host["x_res"][i])
    return entries


def _table(after: int, ids: list[int], rows: list[Entry], overlap: float | None, known: bool, resampled: bool,
           text: Callable[[int], str]) -> Table:
    p, q, logit_p, logit_q, residual = (list(column) for column in zip(*rows))
    drafted = overlap is not None           # whether anything was drafted at this position
    others = {"p": _rest(p), "q": _rest(q) if drafted else None, "residual": _rest(residual) if resampled else None,
              "overlap": short(max(0.0, overlap - sum(map(min, p, q)))) if drafted else None}
    return Table(after=after, ids=ids, texts=[text(t) for t in ids], p=[short(x) for x in p], q=[short(x) for x in q] if drafted else None,
                 residual=[short(x) for x in residual] if resampled else None, logit_p=[short(x) for x in logit_p],
                 logit_q=[short(x) for x in logit_q] if drafted and known else None, overlap=short(overlap) if drafted else None, others=others)


def _rest(listed: list[float]) -> float | None:
    """The probability of all ids that are not listed."""
    return short(max(0.0, 1 - sum(listed)))


def short(x: float) -> float | None:
    """Six significant digits, to keep a trace small; None for -inf (an id that the draft cannot propose) and NaN, which JSON lacks."""
    return float(f"{x:.6g}") if math.isfinite(x) else None
