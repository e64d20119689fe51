"""How long a run has decoded: the time of its rounds on host and device, without what the caller does between two rounds."""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.models.host_copy import Mark, seconds
from core.trace import Round

Marks = tuple[Mark, Mark, Mark]         # before the draft, before the target's pass, after it


class RoundClock:
    """Seconds since the run began, on a clock that stands still between rounds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._recorded = 0.0            # `now` when the last round was finished
        self._device_until = 0.0        # when the device was done with the finished rounds

    @contextmanager
    def running(self) -> Iterator[None]:
        """The clock runs inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.now += time.perf_counter() - start

    def finish(self, round_: Round, launched: float, marks: Marks) -> None:
        """Write a round's times. launched: `now` at its launch. The device must have passed all marks."""
        start, middle, end = marks
        round_.draft_s, round_.verify_s = seconds(start, middle), seconds(middle, end)
        # the device may have worked between rounds, while the clock stood still: that time counts too
        self._device_until = max(self._device_until, launched) + round_.draft_s + round_.verify_s
        self.now = max(self.now, self._device_until)
        round_.elapsed_s = self.now
        round_.other_s = max(0.0, self.now - self._recorded - round_.draft_s - round_.verify_s)
        self._recorded = self.now
