"""An engine with the methods of core.runs.engine.Engine but without a model: its stream is made-up NDJSON lines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.spec_ui import fake_trace


@dataclass
class State:
    phase: str = "ready"
    progress: float | None = None
    message: str = "The live model is ready."
    hub: bool = False


@dataclass
class Method:
    name: str
    label: str
    settings: list[str] = field(default_factory=lambda: ["draft_len"])
    details: list[dict] = field(default_factory=list)


# As the engine describes a method's own settings.
DETAILS = [
    {
        "name": "tree",
        "flag": "--tree",
        "kind": "str",
        "default": "chain",
        "help": "chain, or candidates per depth",
        "low": None,
        "high": None,
        "choices": [],
    },
    {"name": "ngram_max", "flag": "--ngram-max", "kind": "int", "default": 3, "help": "longest match", "low": 1, "high": 16, "choices": []},
    {
        "name": "lookup_match",
        "flag": "--lookup-match",
        "kind": "str",
        "default": "recent",
        "help": "which match",
        "low": None,
        "high": None,
        "choices": ["first", "recent"],
    },
    {"name": "confidence", "flag": "--confidence", "kind": "float", "default": 0.0, "help": "stop below", "low": 0, "high": 1, "choices": []},
]


CALIBRATION = {"pass_s": {"1": 0.03, "2": 0.031, "4": 0.033, "8": 0.036, "16": 0.05, "32": 0.09}, "weights_bytes": 270_000_000,
               "memory_bytes_per_s": 1.2e10, "threads": 1, "device": "cpu", "draft_step_s": {"draft": 0.003, "plain": None}}  # fmt: skip


class FakeEngine:
    """`pace` seconds a round; `fail` is raised before the first round; `texts` replaces the tokens' texts (hostile strings). A calibration takes no
    time; `wrong` is raised instead of it."""

    def __init__(
        self,
        pace: float = 0.0,
        fail: Exception | None = None,
        phase: str = "ready",
        progress: float | None = None,
        texts: list[str] | None = None,
        wrong: Exception | None = None,
    ) -> None:
        self.pace, self.fail, self.texts, self.wrong, self.asked = pace, fail, texts, wrong, []
        self._state = State(phase, progress)
        self.requests, self.closed, self.finished, self.running, self.most = [], 0, 0, 0, 0

    def start(self) -> None:
        pass

    def state(self) -> State:
        return self._state

    def methods(self) -> list[Method]:
        return [
            Method("draft", "Draft model", details=DETAILS),
            Method("lookup", "Prompt lookup (n-gram)"),
            Method("plain", "Plain decoding", settings=[]),
        ]

    def calibration(self, redo: bool = False) -> dict:
        self.asked.append(redo)
        if self.wrong:
            raise self.wrong
        return CALIBRATION | {"pass_s": {k: s * (1.5 if redo else 1) for k, s in CALIBRATION["pass_s"].items()}}

    def stream(self, request) -> Iterator[str]:
        self.requests.append(request)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.fail:
                raise self.fail
            trace = fake_trace.make(
                request.prompt, request.temperature, request.seed, 4 if request.draft_len == "auto" else request.draft_len, request.max_new_tokens
            )
            if self.texts:
                trace = with_texts(trace, self.texts)
            *rest, last = fake_trace.lines(trace)
            for line in rest:
                time.sleep(self.pace)
                yield line
            yield json.dumps({"totals": trace["totals"], "plain": None}) + "\n"
            time.sleep(self.pace)
            yield last
            self.finished += 1
        except GeneratorExit:
            self.closed += 1
            raise
        finally:
            self.running -= 1


def with_texts(trace: dict, texts: list[str]) -> dict:
    """The trace with every token's text replaced by one of `texts`, chosen by the token's id."""

    def pick(i):
        return texts[i % len(texts)]

    for r in trace["rounds"]:
        for token in (*r["drafted"], *r["emitted"]):
            token["text"] = pick(token["id"])
        for table in r["tables"]:
            table["texts"] = [pick(i) for i in table["ids"]]
    trace["totals"]["text"] = "".join(e["text"] for r in trace["rounds"] for e in r["emitted"])
    return trace
