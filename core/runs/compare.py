"""`specscope compare`: plain and speculative decoding of the same work, interleaved. Both ignore EOS and stop strings and emit n tokens."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.measuring import costs, stats
from core.methods import registry
from core.methods.base import Proposer
from core.methods.registry import Method
from core.models.target import graph_runner
from core.runs.runner import Request, facts
from core.sampling import probs, race
from core.trace import Round, Totals

WARM_UP = 8     # tokens that each method decodes before anything is timed


@dataclass(frozen=True)
class Output:
    """The output of one decode."""
    rounds: list[Round]
    ids: list[int]
    text: str


class Work:
    """One decode task for several methods, with each method's proposer and measured costs."""

    def __init__(self, pair: Pair, request: Request, chosen: Sequence[Method]) -> None:
        """Raises UserError if prompt and new tokens do not fit the context, or for settings out of range."""
        self.pair, self.ids = pair, request.ids(pair)
        # a grammar says where the output ends; behind that nothing would be constrained
        self.options = options = replace(request.options, ignore_eos=request.options.grammar is None, stop=(), record=False)
        if options.max_new_tokens < 1 or len(self.ids) + options.max_new_tokens > pair.target.max_positions:
            raise UserError(f"{len(self.ids)} prompt tokens and {options.max_new_tokens} new ones do not fit the comparison: "
                            f"at least 1 new token, at most {pair.target.max_positions} in all.")
        self.runner = graph_runner(pair.target, options.graphs)
        self.proposers: dict[str, Proposer] = {}
        self.costs: dict[str, dict[str, Any]] = {}
        for method in chosen:
            known = {s.name for s in method.settings}
            proposer = method.proposer(pair, {k: v for k, v in request.settings.items() if k in known})
            passes = next((c["verify_s"] for c in self.costs.values() if c), None)
            self.proposers[method.name] = proposer
            self.costs[method.name] = costs.measure(pair.target, proposer, passes, runner=self.runner) | {
                "acceptance": pair.acceptance(method.name, options.sampling.greedy)} if method.drafts else {}

    def decode(self, name: str, options: Options | None = None) -> Output:
        """Decode once with a method, as if it had not run before."""
        gc.collect()
        self.proposers[name].forget()
        decoding = Decoding(self.pair.target, self.proposers[name], self.ids, options or self.options, self.pair.text, self.costs[name])
        return Output(list(decoding), decoding.new_tokens, decoding.output_text)

    def warm_up(self, name: str) -> None:
        """A few tokens; where calls are captured, the whole work, so that no graph is made while the clock runs."""
        short = self.options if self.runner.mode else replace(self.options, max_new_tokens=min(WARM_UP, self.options.max_new_tokens))
        for _ in range(1 + self.runner.direct_first):
            self.decode(name, short)


def compare(pair: Pair, request: Request, names: Sequence[str], repeats: int = 3,
            report: Callable[[str], None] = lambda message: None) -> dict[str, Any]:
    """The record that `compare --json` writes. ratio = sum of plain seconds a token / sum of the method's; spread = its lowest and highest repeat.

    Raises UserError if prompt and new tokens do not fit the context, a method is unknown or repeats < 1.
    """
    if repeats < 1:
        raise UserError(f"--repeats must be at least 1, not {repeats}.")
    chosen = [registry.get(name) for name in names]
    stray = set(request.settings) - {s.name for m in chosen for s in m.settings}
    if stray:
        raise UserError(f"--{min(stray).replace('_', '-')} has no meaning for {', '.join(names)}.")
    work = Work(pair, request, (registry.get("plain"), *chosen))
    runs, last = _runs_in_turns(work, ("plain", *(m.name for m in chosen)), repeats, report)
    one_text = request.options.sampling.greedy or request.options.verify == "coupled"      # all methods should write the same text
    results = []
    for method in chosen:
        difference = first_difference(pair, work.ids, last["plain"].ids, last[method.name].ids, request.options) if one_text else None
        results.append({"method": method.name, "totals": asdict(_median(runs[method.name])), **_ratio(runs["plain"], runs[method.name]),
                        "identical": difference is None if one_text else None, "first_difference": difference})
    run = facts(pair, replace(request, options=work.options, settings={}), chosen[0], work.ids, work.costs[chosen[0].name])
    return {"version": 1, "run": run | {"settings": request.settings},
            "results": results, "plain": asdict(_median(runs["plain"])), "repeats": repeats}


def _runs_in_turns(work: Work, names: Sequence[str], repeats: int,
                 report: Callable[[str], None]) -> tuple[dict[str, list[Totals]], dict[str, Output]]:
    """Totals of every repeat and the last output, by method. The methods take turns, so that a busy moment of the machine affects all."""
    for name in names:
        report(f"warming up {name}")
        work.warm_up(name)
    runs: dict[str, list[Totals]] = {name: [] for name in names}
    last: dict[str, Output] = {}
    for repeat in range(repeats):
        for name in names:
            report(f"repeat {repeat + 1} of {repeats}: {name}")
            memory = stats.PeakMemory(work.pair.target.device)
            last[name] = work.decode(name)
            runs[name].append(stats.totals(last[name].rounds, last[name].text, "length", memory.bytes()))
    return runs, last


def _ratio(plain: list[Totals], mine: list[Totals]) -> dict[str, Any]:
    base, own = ([(t.ttft_s + t.decode_s) / t.new_tokens for t in runs] for runs in (plain, mine))     # sampled under a grammar, lengths differ
    each = [p / s for p, s in zip(base, own)]
    return {"ratio": sum(base) / sum(own), "spread": [min(each), max(each)]}


def _median(runs: list[Totals]) -> Totals:
    return sorted(runs, key=lambda t: t.ttft_s + t.decode_s)[len(runs) // 2]


@torch.inference_mode()
def first_difference(pair: Pair, prompt: list[int], plain: list[int], other: list[int], options: Options | None = None) -> dict[str, Any] | None:
    """The position of the first difference of two outputs, and the gap between the target's two best logits there; None if they are equal.
    For sampled coupled outputs also the gap between the two best of the race, log(p / noise).

    A gap near the dtype's rounding error is a tie, which passes over 1 and over k + 1 tokens may round differently, and no fault.
    """
    at = next((i for i, (a, b) in enumerate(zip(plain, other)) if a != b), None)
    if at is None:
        return None if len(plain) == len(other) else {"position": min(len(plain), len(other)), "reason": "one output is longer"}
    tokens = torch.tensor(prompt + plain[:at], device=pair.target.device)
    logits = pair.target.verify(tokens, pair.target.new_cache(len(tokens)), 1)[0][0].float()
    best = logits.topk(2).values
    piece, extra = pair.text.piece, {}
    if options is not None and not options.sampling.greedy:
        seen = torch.zeros_like(logits, dtype=torch.bool).index_fill_(0, tokens, True)
        noise = race.Noise(options.seed, len(logits), logits.device).rows(options.first_position + at, 1)[0]
        first, second = race.keys(probs.scores(logits, options.sampling, seen), options.sampling, noise).topk(2).values.tolist()
        extra = {"race_gap": first - second}
    return {"position": at, "plain": {"id": plain[at], "text": piece(plain[at])}, "other": {"id": other[at], "text": piece(other[at])},
            "top2_gap": float(best[0] - best[1]), **extra}
