"""The engine on a ZeroGPU Space (elsewhere the usual one): the GPU is there inside one decorated call a run and nowhere else.

`spaces` must be imported before anything touches CUDA, so this module is the first that app.py imports. The decorated functions run in
a forked worker: what goes in and out is pickled, hence plain requests in and NDJSON lines out, and their errors as a line too, since an
exception would arrive as its class name alone. The model is loaded before the page is served, because the platform packs what lies on
the GPU at launch.
"""
from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from core.errors import EnvironmentFailure, UserError
from core.runs.engine import TIME_LIMIT, Engine, RunRequest

ON = os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
START_S = 10.0              # seconds: weights to the GPU, warm-up, costs
TOKEN_S = 0.1               # seconds a token may take, plain or not; more than enough for a small model on a large GPU
FAILED = '{"failed": '      # begins the line that carries an error
PAIR, DEVICE = "smollm2-hub", "cuda"

if ON:
    import spaces


def duration(request: RunRequest, known: dict[str, Any] | None = None) -> int:
    """Whole seconds of GPU to ask for: compared with the visitor's quota before the run, and the shorter the sooner it starts."""
    runs = 1 + (request.baseline and request.method != "plain")
    return round(min(TIME_LIMIT, START_S + runs * TOKEN_S * request.max_new_tokens))


def _on_gpu(seconds: Any) -> Callable[[Callable], Callable]:
    return spaces.GPU(duration=seconds) if ON else lambda act: act


@_on_gpu(duration)
def decode(request: RunRequest, known: dict[str, Any]) -> Iterator[str]:
    """One whole run, speculative and plain, in one call. known: costs measured by earlier calls, whose workers are gone."""
    yield from _told(lambda: _engine.lines(request, known))


@_on_gpu(int(TIME_LIMIT))
def calibrate() -> str:
    """The costs of every method on this GPU as one line of JSON."""
    return "".join(_told(lambda: iter([json.dumps(_engine.measured())])))


def _told(act: Callable[[], Iterator[str]]) -> Iterator[str]:
    try:
        yield from act()
    except (UserError, EnvironmentFailure) as error:
        yield FAILED + json.dumps([type(error).__name__, str(error), error.reason, error.values]) + "}\n"


def _heard(line: str) -> str:
    """The line, or the failure in it raised again."""
    if line.startswith(FAILED):
        kind, words, reason, values = json.loads(line)["failed"]
        raise (UserError if kind == "UserError" else EnvironmentFailure)(words, reason, **values)
    return line


@contextmanager
def _platform() -> Iterator[None]:
    """Its refusals (quota, no GPU free) come as Gradio's errors, with words for people in `message`."""
    try:
        yield
    except (UserError, EnvironmentFailure):
        raise
    except Exception as error:
        words = getattr(error, "message", None)
        if not isinstance(words, str):
            raise
        raise EnvironmentFailure(re.sub("<[^>]*>", "", words)) from None


class ZeroEngine(Engine):
    """Loads where it is made; decodes and measures through the decorated calls."""

    def __init__(self) -> None:
        super().__init__(PAIR)
        self._load()

    def start(self) -> None:
        """Nothing: it is loaded, or has failed for good."""

    def _open(self) -> Any:
        """Everything is built on the CPU, heads included, and then moved whole: outside a call the platform allows a move and no more.

        float32 until then, since bf16 weights would be packed for the CPU."""
        import torch

        from core.checkpoints import load
        from core.methods import registry
        from core.models.graphs import GraphRunner
        pair = load.load(self.pair_name, device="cpu", dtype="float32", progress=self._report)
        for method in registry.available(pair):
            method.proposer(pair)
        for part in (pair.target.model, *(x[0] if isinstance(x, tuple) else x for x in pair._loaded.values())):
            if isinstance(part, torch.nn.Module):
                part.to(DEVICE, torch.bfloat16)
                if getattr(part, "token_map", None) is not None:
                    part.token_map = part.token_map.to(DEVICE)
        pair.target.graphs = GraphRunner(DEVICE, enabled=False, why="ZeroGPU lends its GPU for one call, a graph would not outlive it")
        return pair

    def lines(self, request: RunRequest, known: dict[str, Any]) -> Iterator[str]:
        """In the worker."""
        self._costs = {**self._costs, **known}
        return self._stream(request, duration(request) - 3)     # ends in words, before the platform ends it

    def measured(self) -> dict[str, Any]:
        """In the worker."""
        return super()._calibrate()

    def _calibrate(self) -> dict[str, Any]:
        with _platform():
            return json.loads(_heard(calibrate()))

    def stream(self, request: RunRequest) -> Iterator[str]:
        self._need_model()
        with self._alone(), _platform():
            lines = decode(request, self._costs)
            try:
                for line in lines:
                    yield self._learn(request, _heard(line))
            finally:
                lines.close()

    def _learn(self, request: RunRequest, line: str) -> str:
        """The head's costs are this GPU's: the next call need not measure them again."""
        if request.method not in self._costs and line.startswith('{"version"'):
            self._costs[request.method] = json.loads(line)["run"]["costs"]
        return line


_engine: Any = None             # the worker is forked from this process and finds it here


def make_engine() -> Engine:
    """The engine for this place; on ZeroGPU loaded when this returns (or failed, in words)."""
    global _engine
    _engine = ZeroEngine() if ON else Engine()
    return _engine
