"""The tab "Lesson": ten steps on recorded runs, drawn and checked in the browser (assets/js). The server has no part in it."""

from __future__ import annotations

from pathlib import Path

from spec_ui.components import explain


def build(traces: Path) -> None:
    explain.lesson(traces)
