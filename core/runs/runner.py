"""Request -> Run: one recorded decode. The command line, the page and the recordings use it."""
from __future__ import annotations

import gc
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import torch

from core.checkpoints.load import Pair
from core.decoding.loop import Decoding, Options
from core.measuring import costs, stats
from core.methods import registry
from core.methods.base import Proposer
from core.methods.settings import complete
from core.models.target import graph_runner
from core.trace import Round, Totals, Trace


@dataclass(frozen=True)
class Request:
    """What to decode and how. Either `prompt` (one user turn; `raw` skips the chat template) or `prompt_ids`."""
    prompt: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    system: str | None = None
    raw: bool = False
    method: str = "draft"
    options: Options = field(default_factory=Options)
    settings: dict[str, Any] = field(default_factory=dict)     # the method's own options
    after_ids: tuple[int, ...] = ()     # a branch: output that is already fixed, as ids ...
    after_text: str = ""                # ... and as text after them; decoding continues from there

    def ids(self, pair: Pair) -> list[int]:
        """The prompt's ids, with those of a branch. Raises UserError if the prompt needs a tokenizer and there is none."""
        if self.prompt_ids is not None:
            ids = list(self.prompt_ids)
        else:
            ids = pair.text.encode(self.prompt) if self.raw else pair.text.chat(self.prompt, self.system)
        return ids + self.branch_ids(pair)

    def branch_ids(self, pair: Pair) -> list[int]:
        """The ids of the output that is already fixed."""
        return list(self.after_ids) + (pair.text.encode(self.after_text, special=False) if self.after_text else [])


class Run:
    """One recorded run: iterate `rounds()`, then read `totals` or `trace()`. `facts` is the trace's `run`."""

    def __init__(self, pair: Pair, request: Request, measured: dict[str, Any] | None = None) -> None:
        """measured: the result of an earlier `costs.measure`; None measures now, which takes about half a second on a small CPU.

        Raises UserError for a request that cannot run, EnvironmentFailure if memory is short.
        """
        method = registry.get(request.method)
        request = replace(request, options=replace(request.options, first_position=len(request.branch_ids(pair))))
        self.pair, self.request = pair, request
        with pair.enough():            # loads the draft's weights, unless an earlier run has
            proposer = method.proposer(pair, request.settings)
            if measured is None:
                measured = costs.measure(pair.target, proposer, runner=graph_runner(pair.target, request.options.graphs))
        acceptance = pair.acceptance(request.method, request.options.sampling.greedy)
        measured = measured | ({"acceptance": acceptance} if acceptance else {})
        self.ids = request.ids(pair)
        self.facts = facts(pair, request, method, self.ids, measured,
                           proposer.levels is not None or (proposer.adaptive and request.options.draft_len == "auto" and not request.options.grammar))
        self.facts["draft_len"] = proposer.levels or self.facts["draft_len"]
        if request.options.grammar and method.drafts and not self.facts["graphs"].startswith("off"):
            self.facts["graphs"] += ", the draft directly: the grammar reads every token"
        elif proposer.direct and not self.facts["graphs"].startswith("off"):
            self.facts["graphs"] += f", the draft directly: {proposer.direct}"
        self.memory = stats.PeakMemory(pair.target.device)
        with pair.enough():
            self.decoding = Decoding(pair.target, proposer, self.ids, request.options, pair.text, measured)
        if self.decoding.expected is not None and method.drafts:
            self.facts["expected"] = self.decoding.expected
        self.done: list[Round] = []
        self.totals: Totals | None = None

    def _steps(self, rounds: Iterator[Round]) -> Iterator[Round]:
        """The rounds; `pair.enough` turns a lack of memory in the decoding (not in the caller's code) into a sentence."""
        while True:
            with self.pair.enough():
                round_ = next(rounds, None)
            if round_ is None:
                return
            yield round_

    def rounds(self) -> Iterator[Round]:
        """Decode. Afterwards `totals` is set, also after close() or Ctrl-C, then with stop "cancelled"."""
        rounds = iter(self.decoding)
        try:
            for round_ in self._steps(rounds):
                self.done.append(round_)
                yield round_
        finally:
            rounds.close()
            text = self.decoding.output_text
            self.totals = stats.totals(self.done, text, self.decoding.stop, self.memory.bytes())

    def plain(self) -> Iterator[list[Round]]:
        """Plain decoding of the same prompt to the same number of tokens, with EOS and stop strings ignored: the same work, under the same grammar.

        Yields the rounds so far after each token, so that the caller can end it at any time.
        """
        options = replace(self.request.options, max_new_tokens=self.totals.new_tokens, ignore_eos=True, stop=(), record=False)
        with self.pair.enough():
            rounds = iter(Decoding(self.pair.target, Proposer(), self.ids, options, self.pair.text))
        so_far: list[Round] = []
        try:
            for round_ in self._steps(rounds):
                so_far.append(round_)
                yield so_far
        finally:
            rounds.close()
            gc.collect()

    def trace(self, plain: dict[str, Any] | None = None) -> Trace:
        """plain: stats.plain_record of the rounds of `plain()`."""
        return Trace(self.facts, self.done, self.totals, plain)


def facts(pair: Pair, request: Request, method: registry.Method, ids: Sequence[int], measured: dict[str, Any],
          tree: bool = False) -> dict[str, Any]:
    """The trace's `run`. measured: its costs; tree: whether the proposer drafts trees."""
    options = request.options
    kind = options.verify if options.verify != "chain" or not tree else "tree"
    return {"target": pair.target_name, "draft": pair.draft_name(method.needs) if method.needs else None, "method": method.name,
            "verify": kind, "lossless": kind != "typical" or not method.drafts, "device": str(pair.target.device), "dtype": pair.target.arithmetic,
            "row_exact": pair.target.row_exact, "prompt": request.prompt, "prompt_ids": list(ids),
            "sampling": asdict(options.sampling), "draft_len": options.draft_len if method.drafts else 0,
            "settings": complete(method.settings, request.settings, method.name), "seed": options.seed,
            **({"grammar": options.grammar.as_record()} if options.grammar else {}),
            "max_new_tokens": options.max_new_tokens, "stop": list(options.stop), "ignore_eos": options.ignore_eos,
            "graphs": graph_runner(pair.target, options.graphs).label,
            "costs": measured, "weights": dict(pair.weights), **pair.notes, "software": software(),
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds")}


def software() -> dict[str, Any]:
    try:
        own = metadata.version("specscope")
    except metadata.PackageNotFoundError:       # not installed: run from a checkout
        own = "checkout"
    return {"specscope": own, "torch": torch.__version__, "python": platform.python_version(), "machine": platform.machine(),
            "threads": torch.get_num_threads()}
