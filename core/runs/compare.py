"""Plain and speculative decoding, interleaved, on the same work: both ignore EOS and stop strings and emit exactly n tokens."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.decoding.loop import Decoding
from core.errors import UserError
from core.measuring import costs, stats
from core.methods import registry
from core.models.target import graph_runner
from core.runs.runner import Request, facts
from core.trace import Round, Totals

WARM_UP = 8     # tokens of each method before anything is timed


def compare(pair: Pair, request: Request, names: Sequence[str], repeats: int = 3,
            report: Callable[[str], None] = lambda message: None) -> dict[str, Any]:
    """The `compare` record of design.md. ratio = sum of plain seconds / sum of the method's, spread = lowest and highest repeat.

    Raises UserError where the context is too short for the work, a method is unknown or repeats < 1.
    """
    if repeats < 1:
        raise UserError(f"--repeats must be at least 1, not {repeats}.")
    chosen = [registry.get(name) for name in names]
    stray = set(request.settings) - {s.name for m in chosen for s in m.settings}
    if stray:
        raise UserError(f"--{min(stray).replace('_', '-')} has no meaning for {', '.join(names)}.")
    ids = request.ids(pair)
    work = replace(request.options, ignore_eos=True, stop=(), record=False)
    if work.max_new_tokens < 1 or len(ids) + work.max_new_tokens > pair.target.max_positions:
        raise UserError(f"{len(ids)} prompt tokens and {work.max_new_tokens} new ones do not fit the comparison: "
                        f"at least 1 new token, at most {pair.target.max_positions} in all.")

    def one(method: registry.Method, options=work) -> tuple[list[Round], list[int], str]:
        gc.collect()
        proposers[method.name].forget()
        decoding = Decoding(pair.target, proposers[method.name], ids, options, pair.text, measured[method.name])
        return list(decoding), decoding.new_tokens, decoding.output_text

    plain, runner = registry.get("plain"), graph_runner(pair.target, work.graphs)
    proposers, measured = {}, {}
    for method in (plain, *chosen):
        known = {s.name for s in method.settings}
        proposers[method.name] = method.proposer(pair, {k: v for k, v in request.settings.items() if k in known})
        passes = next((m["verify_s"] for m in measured.values() if m), None)
        measured[method.name] = costs.measure(pair.target, proposers[method.name], passes, runner=runner) if method.drafts else {}
    for method in (plain, *chosen):
        report(f"warming up {method.name}")
        short = work if runner.mode else replace(work, max_new_tokens=min(WARM_UP, work.max_new_tokens))
        for _ in range(1 + runner.patience):                    # captured: the whole work, since no graph may be made while the clock runs
            one(method, short)
    runs: dict[str, list[Totals]] = {m.name: [] for m in (plain, *chosen)}
    texts: dict[str, tuple[list[Round], list[int], str]] = {}
    for repeat in range(repeats):
        for method in (plain, *chosen):
            report(f"repeat {repeat + 1} of {repeats}: {method.name}")
            memory = stats.PeakMemory(pair.target.device)
            texts[method.name] = one(method)
            rounds, _, text = texts[method.name]
            runs[method.name].append(stats.totals(rounds, text, "length", memory.bytes()))
    seconds = {name: [t.ttft_s + t.decode_s for t in all_] for name, all_ in runs.items()}
    results = []
    for method in chosen:
        mine, base = seconds[method.name], seconds["plain"]
        each = [p / s for p, s in zip(base, mine)]
        same, difference = None, None
        if request.options.sampling.greedy:
            difference = first_difference(pair, ids, texts["plain"][1], texts[method.name][1])
            same = difference is None
        results.append({"method": method.name, "totals": asdict(_median(runs[method.name])), "ratio": sum(base) / sum(mine),
                        "spread": [min(each), max(each)], "identical": same, "first_difference": difference})
    first = chosen[0]
    run = facts(pair, replace(request, options=work, settings={}), first, ids, measured[first.name])
    return {"version": 1, "run": run | {"settings": request.settings},
            "results": results, "plain": asdict(_median(runs["plain"])), "repeats": repeats}


def _median(runs: list[Totals]) -> Totals:
    return sorted(runs, key=lambda t: t.ttft_s + t.decode_s)[len(runs) // 2]


@torch.inference_mode()
def first_difference(pair: Pair, prompt: list[int], plain: list[int], other: list[int]) -> dict[str, Any] | None:
    """Where two outputs part, and by how little: the gap between the target's two best logits there. None if they are the same.

    A gap near the dtype's rounding is a tie that a pass over 1 and a pass over k + 1 tokens round differently, not a wrong verdict.
    """
    at = next((i for i, (a, b) in enumerate(zip(plain, other)) if a != b), None)
    if at is None:
        return None if len(plain) == len(other) else {"position": min(len(plain), len(other)), "reason": "one output is longer"}
    tokens = torch.tensor(prompt + plain[:at], device=pair.target.device)
    logits = pair.target.verify(tokens, pair.target.new_cache(len(tokens)), 1)[0][0].float()
    best = logits.topk(2).values
    piece = pair.text.piece
    return {"position": at, "plain": {"id": plain[at], "text": piece(plain[at])}, "other": {"id": other[at], "text": piece(other[at])},
            "top2_gap": float(best[0] - best[1])}
