"""The page as the browser tests visit it: one server a folder of recorded runs, shared by all tests of a process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from spec_ui.page import LAUNCH_KWARGS, build
from spec_ui.server import tuned
from tests.browser.users import LIMIT_S
from tests.spec_ui.fake_engine import FakeEngine


class Stand:
    """The engine that a shared page was built with: it passes everything on to the engine of the test that runs now."""

    def __init__(self) -> None:
        self.now = FakeEngine(phase="loading")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


class Site:
    """A served page. It is built before the model is loaded, as the app builds it."""

    def __init__(self, folder: Path, reports: Path = tuned.FOLDER) -> None:
        """`reports`: where the Methods tab looks for what `specscope tune` measured."""
        self._stand, usual = Stand(), tuned.load.__defaults__
        tuned.load.__defaults__ = (reports,)
        try:
            self.demo = build(self._stand, folder)
        finally:
            tuned.load.__defaults__ = usual
        _, self.url, _ = self.demo.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", **LAUNCH_KWARGS)
        self._calibration = next(f.fn.__self__ for f in self.demo.fns.values() if getattr(f.fn, "__name__", "") == "measure")

    @property
    def engine(self) -> FakeEngine:
        return self._stand.now

    @property
    def queue(self) -> Any:
        return self.demo._queue

    def begin(self, engine: FakeEngine) -> None:
        """A test begins: its own engine, and nothing measured yet."""
        self._stand.now = engine
        self._calibration.forget()

    def settle(self) -> None:
        """A test has ended and its visitors are gone: waits until nothing of theirs runs or waits on the server."""
        end = time.monotonic() + LIMIT_S
        while self.engine.running or len(self.queue) or any(self.queue.active_jobs):
            assert time.monotonic() < end, f"the last test's runs never end: {self.engine.running} running, {len(self.queue)} waiting"
            time.sleep(0.02)

    def close(self) -> None:
        self.demo.close(verbose=False)
