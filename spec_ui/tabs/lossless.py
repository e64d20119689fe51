"""The tab "Why nothing is lost": everything happens in the browser (assets/js/lossless*.js)."""

from __future__ import annotations

from pathlib import Path

from spec_ui.components.explain import of_runs

LABEL = "Why nothing is lost"


def build(traces: Path) -> None:
    of_runs("lossless", traces)
