"""The page's interface to core: loads a pair in the background, reports progress, decodes one request at a time as NDJSON lines."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from core.errors import EnvironmentFailure, UserError
from core.grammar.constraint import Constraint
from core.methods import catalog

TIME_LIMIT = 60.0       # seconds a visitor's run may take, plain decoding included


@dataclass(frozen=True)
class EngineState:
    """How far the engine is with loading."""
    phase: str                      # idle | downloading | loading | ready | failed
    progress: float | None          # 0..1, None = unknown
    message: str                    # one sentence for the user
    hub: bool = False               # whether the weights are from the Hub, so not those of the recorded runs


@dataclass(frozen=True)
class MethodInfo:
    """What the page knows of a method."""
    name: str
    label: str
    settings: tuple[str, ...]       # names of the request's fields that it uses, its own settings last
    details: tuple[dict[str, Any], ...] = ()    # its own settings: name, flag, kind, default, help, low, high, choices


@dataclass(frozen=True)
class RunRequest:
    """One run as the page requests it. spec_ui.server.limits checks it first, core's Options again."""
    prompt: str
    method: str = "draft"
    draft_len: int | str = "auto"
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 96
    baseline: bool = True
    settings: dict[str, Any] = field(default_factory=dict)     # the method's own options, checked by core
    after_ids: tuple[int, ...] = ()     # a branch: fixed output, as ids and as text after them; decoding continues from there
    after_text: str = ""
    verify: str = "chain"
    grammar: Constraint | None = None


class Engine:
    """One pair, and one decode at a time. Importing this module is fast: only the loading thread imports torch."""

    def __init__(self, pair: str = "smollm2") -> None:
        self.pair_name = pair
        self._state = EngineState("idle", None, "The live model is not loaded yet.")
        self._thread: threading.Thread | None = None
        self._start = threading.Lock()
        self._busy = threading.Lock()
        # one thread decodes everything: PyTorch keeps some 8 MB for each thread that ever decoded, and Gradio asks for each line on another thread
        self._decoder = ThreadPoolExecutor(1, thread_name_prefix="specscope-decode")
        self._pair: Any = None
        self._threads = 1
        self._costs: dict[str, dict[str, Any]] = {}
        self._calibration: dict[str, Any] | None = None
        self._known: list[MethodInfo] = _all_methods()

    def start(self) -> None:
        """Start loading in the background. A second call does nothing, or, after a failure, loads again."""
        with self._start:
            if self._thread is None or (not self._thread.is_alive() and self._state.phase == "failed"):
                self._state = EngineState("loading", None, "The live model is loading…")
                self._thread = threading.Thread(target=self._load, name="specscope-load", daemon=True)
                self._thread.start()

    def state(self) -> EngineState:
        return self._state

    def methods(self) -> list[MethodInfo]:
        """The methods that can run; all methods while the pair is not loaded."""
        return list(self._known)

    def _load(self) -> None:
        try:
            self._pair = self._open()
            from core.methods import registry
            self._known = [_info(m) for m in registry.available(self._pair)]
            self._state = EngineState("ready", 1.0, "The live model is ready.", "pair" in self._pair.notes)
        except (UserError, EnvironmentFailure) as error:
            self._state = EngineState("failed", None, str(error))
        except Exception as error:      # no caller would see an exception of this thread, so the state must tell the page
            from core.checkpoints import memory
            if memory.is_out(error):
                self._state = EngineState("failed", None, "There is not enough memory for the live model; recorded runs still play.")
                return
            self._state = EngineState("failed", None, f"The live model could not be loaded ({type(error).__name__}); recorded runs still play.")
            raise

    def _open(self) -> Any:
        """Load the pair and measure its target's passes."""
        from core.checkpoints import load
        from core.measuring import costs
        from core.methods import registry
        pair = load.load(self.pair_name, progress=self._report)
        self._threads = costs.choose_threads(pair.target, spare=1)      # the web server needs a core of its own
        self._report("Measuring the cost of a step on this machine…", None)
        self._costs["plain"] = costs.measure(pair.target, registry.get("plain").proposer(pair))
        return pair

    def _report(self, message: str, share: float | None, phase: str = "loading") -> None:
        self._state = EngineState(phase, share, message)

    def calibration(self, redo: bool = False) -> dict[str, Any]:
        """Costs of this machine: pass_s {tokens: s}, weights_bytes, memory_bytes_per_s, draft_step_s {method: s or None}.

        Measured once, and again with `redo`, but never during a run. Raises EnvironmentFailure if no model is ready.
        """
        self._need_model()
        with self._exclusive():
            if self._calibration is None or redo:
                self._calibration = self._decoder.submit(copy_context().run, self._calibrate).result()
            return self._calibration

    def _calibrate(self) -> dict[str, Any]:
        import torch

        from core.measuring import costs
        torch.set_num_threads(self._threads)
        steps = {m.name: self._cost(m.name)["draft_step_s"] for m in self._known}
        return costs.calibrate(self._pair.target) | {"draft_step_s": steps}

    def _cost(self, name: str) -> dict[str, Any]:
        """Costs of a method. The target's passes are measured once, at load if possible; the draft step at the first request."""
        if name not in self._costs:
            from core.measuring import costs
            from core.methods import registry
            target, passes = self._pair.target, next((known["verify_s"] for known in self._costs.values()), None)
            with self._pair.enough():
                self._costs[name] = costs.measure(target, registry.get(name).proposer(self._pair), passes)
        return self._costs[name]

    def _need_model(self) -> None:
        if self._pair is None:
            raise EnvironmentFailure(f"The live model is not ready yet: {self._state.message}")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One caller at a time. Raises EnvironmentFailure if another one is not done within TIME_LIMIT."""
        if not self._busy.acquire(timeout=TIME_LIMIT):
            raise EnvironmentFailure("Another run is still going on: try again in a minute.", "busy")
        try:
            yield
        finally:
            self._busy.release()

    def stream(self, request: RunRequest) -> Iterator[str]:
        """NDJSON lines of a trace: head, one a round, totals with plain null, then (baseline) totals again with plain measured. While plain
        decoding runs, {"plain_progress": {"tokens": n}} comes every 8 tokens, so that a user who leaves is noticed.

        Closing the generator ends the run within one round and frees its caches. A run longer than TIME_LIMIT ends with stop "cancelled".
        Raises UserError for a request that cannot run, EnvironmentFailure if no model is ready or another run does not end.
        """
        self._need_model()
        with self._exclusive():
            lines = self._stream(request)
            try:
                while line := self._decoder.submit(next, lines, None).result():
                    yield line
            finally:
                self._decoder.submit(lines.close).result()

    def _stream(self, request: RunRequest, limit_s: float = TIME_LIMIT) -> Iterator[str]:
        import time

        import torch

        from core import trace
        from core.decoding.loop import Options
        from core.measuring import stats
        from core.runs.runner import Request, Run
        from core.sampling.probs import Sampling
        torch.set_num_threads(self._threads)        # a setting of the calling thread
        options = Options(request.max_new_tokens, request.draft_len, Sampling(request.temperature, top_p=request.top_p), request.seed,
                          verify=request.verify, grammar=request.grammar)
        run = Run(self._pair, Request(request.prompt, method=request.method, options=options, settings=request.settings,
                                      after_ids=request.after_ids, after_text=request.after_text), self._cost(request.method))
        end = time.monotonic() + limit_s
        yield trace.head_line(run.facts)
        rounds = run.rounds()
        try:
            for round_ in rounds:
                yield trace.round_line(round_)
                if time.monotonic() > end:
                    break
        finally:
            rounds.close()
        yield trace.last_line(run.totals, None)
        if request.baseline and run.totals.new_tokens and request.method != "plain":
            plain = None
            baseline = run.plain()
            try:
                for so_far in baseline:
                    if time.monotonic() > end:
                        return
                    if len(so_far) % 8 == 0:
                        yield trace.dumps({"plain_progress": {"tokens": len(so_far)}}) + "\n"
                plain = stats.plain_record(so_far)
            finally:
                baseline.close()
            yield trace.last_line(run.totals, plain)


def _info(method: Any) -> MethodInfo:
    names = (("draft_len",) if method.drafts else ()) + tuple(s.name for s in method.settings)
    details = tuple({"name": s.name, "flag": s.flag, "kind": s.kind.__name__, "default": s.default, "help": s.help, "low": s.low, "high": s.high,
                     "choices": list(s.choices)} for s in method.settings)
    return MethodInfo(method.name, method.label, names, details)


def _all_methods() -> list[MethodInfo]:
    """All methods by name, for the time before the loaded pair decides which can run."""
    return [MethodInfo(name, label, () if name == "plain" else ("draft_len",)) for name, label in catalog.LABELS.items()]
