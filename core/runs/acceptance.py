"""`specscope tune acceptance`: how often each method's drafts are accepted, by level and rank, on prompts that no draft was trained on.

Draft length `auto` starts from these numbers (assets/smollm2/acceptance.json), and the run's own rounds correct them.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.checkpoints.load import Pair
from core.decoding.loop import Options
from core.methods import registry
from core.runs.runner import Request, Run
from core.sampling.probs import Sampling
from core.trace import Round, Table

LENGTHS = {"lookup": 8, "suffix": 8, "medusa": 4}      # levels drafted; 5 for the others
RANKS = 8
ENOUGH = 30             # drafts that reached a level, for its shares to count
SETTINGS: dict[str, dict[str, Any]] = {"eagle": {"tree": "chain"}, "medusa": {"tree": "chain"}}       # else by default
COMBINED = {"ngram_min": 3}                             # the lookup before a draft asks for longer matches
COSTS = {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": 0.1, "plain_step_s": 1.0}        # nothing here depends on time


def measure(pair: Pair, asked: Sequence[str], new_tokens: int, report: Callable[[str], None] = lambda m: None) -> dict[str, Any]:
    """{"greedy" | "sampled": {method: [level][rank] share accepted of the drafts that reach the level}}; "lookup+" is the lookup before a draft."""
    out: dict[str, Any] = {}
    todo = [(m.name, m.name, SETTINGS.get(m.name, {})) for m in registry.available(pair) if m.drafts and "+" not in m.name]
    todo.append(("lookup+", "lookup", COMBINED))
    for kind, heat in (("greedy", 0.0), ("sampled", 0.8)):
        out[kind] = {}
        for name, method, settings in todo:
            report(f"{kind}: {name}")
            rounds: list[Round] = []
            for prompt in asked:
                options = Options(new_tokens, LENGTHS.get(method, 5), Sampling(heat), ignore_eos=True)
                run = Run(pair, Request(prompt, method=method, options=options, settings=settings), COSTS)
                rounds += list(run.rounds())
            found = shares(rounds)
            accuracy = getattr(getattr(registry.get(method).proposer(pair, settings), "heads", None), "accuracy", None)
            out[kind][name] = with_ranks(found, accuracy) if accuracy else found
    return out


def shares(rounds: Sequence[Round]) -> list[list[float]]:
    """[level][rank] of recorded chains. Rank 0 is the drafted token; the others are listed by the draft's probabilities, where it has any."""
    tested: list[int] = []
    hits: list[list[float]] = []
    for round_ in rounds:
        for level, drafted in enumerate(round_.drafted):
            if drafted.verdict == "not_reached":
                break
            if level == len(tested):
                tested.append(0)
                hits.append([0.0] * RANKS)
            tested[level] += 1
            hits[level][0] += drafted.verdict == "accepted"
            table = next((t for t in round_.tables if t.after == level - 1), None)
            if table is not None and table.q is not None and table.logit_q is not None:
                for rank, p in enumerate(_by_rank(table)):
                    if rank:
                        hits[level][rank] += p
    out = []
    for n, row in zip(tested, hits):
        if n < ENOUGH:
            break
        out.append(possible([h / n for h in row]))
    return out


def possible(ranks: Sequence[float]) -> list[float]:
    """Shares as the tokens of one position can have them: none above the one before it, at most 1 together. A share without others stays alone."""
    first, rest = ranks[0], sorted((min(r, ranks[0]) for r in ranks[1:]), reverse=True)
    room = min(1.0, (1 - first) / sum(rest)) if any(rest) else 0.0
    return [round(first, 4), *(round(r * room, 4) for r in rest)] if room else [round(first, 4)]


def with_ranks(levels: list[list[float]], accuracy: Sequence[Sequence[float]]) -> list[list[float]]:
    """The ranks that a record of Medusa's heads does not list, in the proportions of the accuracies measured in training."""
    return [possible([row[0] * a / known[0] for a in known[:RANKS]]) for row, known in zip(levels, accuracy)]


def _by_rank(table: Table) -> list[float]:
    """p of the RANKS likeliest tokens of the draft, likeliest first. (Greedy p is 1 at one token.)"""
    known = [(lq, p) for lq, p in zip(table.logit_q, table.p) if lq is not None]
    return [p for _, p in sorted(known, key=lambda x: -x[0])[:RANKS]]
