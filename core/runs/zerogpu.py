"""The engine on a ZeroGPU Space of Hugging Face, where a GPU exists only inside decorated calls: one call a run. Elsewhere the usual engine.

`spaces` must be imported before anything touches CUDA, so this module is the first that app.py imports. The decorated functions run in
a forked worker, and all that goes in and out is pickled: requests go in, NDJSON lines come out. Errors come out as a line too, since of
an exception only the class name would arrive. The model is loaded before the page is served, because the platform takes over what is
on the GPU at launch.
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
START_S = 10.0              # seconds to move the weights to the GPU, warm up and measure costs
TOKEN_S = 0.1               # seconds allowed per token, plain or speculative: ample for a small model on a large GPU
FAILED = '{"failed": '      # start of a line that carries an error
PAIR, DEVICE = "smollm2-hub", "cuda"

if ON:
    import spaces


def duration(request: RunRequest, known: dict[str, Any] | None = None) -> int:
    """Seconds of GPU time to request, a whole number. The platform compares it with the user's quota, and starts shorter calls sooner."""
    runs = 1 + (request.baseline and request.method != "plain")
    return round(min(TIME_LIMIT, START_S + runs * TOKEN_S * request.max_new_tokens))


def _on_gpu(seconds: Any) -> Callable[[Callable], Callable]:
    return spaces.GPU(duration=seconds) if ON else lambda act: act


@_on_gpu(duration)
def decode(request: RunRequest, known: dict[str, Any]) -> Iterator[str]:
    """One whole run, speculative and plain, in one call. known: costs by method, measured by earlier calls, whose workers no longer exist."""
    yield from _errors_as_lines(lambda: _engine.lines(request, known))


@_on_gpu(int(TIME_LIMIT))
def calibrate() -> str:
    """The costs of every method on this GPU as one line of JSON."""
    return "".join(_errors_as_lines(lambda: iter([json.dumps(_engine.measured())])))


def _errors_as_lines(act: Callable[[], Iterator[str]]) -> Iterator[str]:
    """The lines of `act`, and a UserError or EnvironmentFailure as one more line, to cross the process border."""
    try:
        yield from act()
    except (UserError, EnvironmentFailure) as error:
        yield FAILED + json.dumps([type(error).__name__, str(error), error.reason, error.values]) + "}\n"


def _or_raise(line: str) -> str:
    """Returns the line; raises the error if it carries one."""
    if line.startswith(FAILED):
        kind, words, reason, values = json.loads(line)["failed"]
        raise (UserError if kind == "UserError" else EnvironmentFailure)(words, reason, **values)
    return line


@contextmanager
def _platform() -> Iterator[None]:
    """Turns the platform's refusals (quota, no free GPU), which are Gradio errors with their text in `message`, into EnvironmentFailure."""
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
    """Loads when it is made; decodes and measures through the decorated calls."""

    def __init__(self) -> None:
        super().__init__(PAIR)
        self._load()

    def start(self) -> None:
        """Does nothing: the pair is loaded, or loading has failed for good."""

    def _open(self) -> Any:
        """Build everything on the CPU, heads included, and move it to the GPU: outside a call the platform allows only that.

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
        """The lines of a run; called in the worker."""
        self._costs = {**self._costs, **known}
        return self._stream(request, duration(request) - 3)     # ends by itself before the platform would end it

    def measured(self) -> dict[str, Any]:
        """The costs of every method; called in the worker."""
        return super()._calibrate()

    def _calibrate(self) -> dict[str, Any]:
        with _platform():
            return json.loads(_or_raise(calibrate()))

    def stream(self, request: RunRequest) -> Iterator[str]:
        self._need_model()
        with self._exclusive(), _platform():
            lines = decode(request, self._costs)
            try:
                for line in lines:
                    yield self._keep_costs(request, _or_raise(line))
            finally:
                lines.close()

    def _keep_costs(self, request: RunRequest, line: str) -> str:
        """Returns the line. From the trace's head, keeps the method's costs on this GPU, so that the next call need not measure them."""
        if request.method not in self._costs and line.startswith('{"version"'):
            self._costs[request.method] = json.loads(line)["run"]["costs"]
        return line


_engine: Any = None             # the worker is forked from this process, so it has this too


def make_engine() -> Engine:
    """The engine for this machine. On ZeroGPU it is loaded when this returns, or its state is `failed`."""
    global _engine
    _engine = ZeroEngine() if ON else Engine()
    return _engine
