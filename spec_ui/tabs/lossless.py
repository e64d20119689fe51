"""The tab "Why nothing is lost": everything happens in the browser (assets/js)."""

from __future__ import annotations

from pathlib import Path

from spec_ui.components import explain


def build(traces: Path) -> None:
    explain.explain("lossless", traces)
