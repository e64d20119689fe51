"""How long a run has decoded: the host's work inside rounds and the device's work on launched ones, not what a reader does between two."""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.models.host_copy import Mark, seconds
from core.trace import Round

Marks = tuple[Mark, Mark, Mark]         # before the draft, before the target's pass, behind it


class RoundClock:
    """Seconds since the run began, on a clock that stands still outside rounds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._recorded = 0.0            # `now` when the last round was finished
        self._device_until = 0.0        # when the device is through with the rounds that were finished

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.now += time.perf_counter() - start

    def finish(self, round_: Round, launched: float, marks: Marks) -> None:
        """Write a round's times. launched: `now` when it was launched. The device must have passed all marks."""
        before, between, behind = marks
        round_.draft_s, round_.verify_s = seconds(before, between), seconds(between, behind)
        # the device may have worked while the round's reader read: that time is decoding too
        self._device_until = max(self._device_until, launched) + round_.draft_s + round_.verify_s
        self.now = max(self.now, self._device_until)
        round_.elapsed_s = self.now
        round_.other_s = max(0.0, self.now - self._recorded - round_.draft_s - round_.verify_s)
        self._recorded = self.now
