"""The tab "Methods": a card for each method and the recorded ones side by side, drawn in the browser (assets/js)."""

from __future__ import annotations

from pathlib import Path

from core.assets import ASSETS
from core.methods import catalog
from spec_ui.components import explain
from spec_ui.server import tuned

TUNED = ("early-exit",)  # methods whose card shows what `specscope tune` found


def sizes(folder: Path = ASSETS / "smollm2") -> dict[str, int]:
    """Bytes of the weights of each draft that ships with the app, by its folder's name, which is the method's."""
    return {d.name: sum(f.stat().st_size for f in d.glob("*.safetensors")) for d in sorted(folder.glob("*")) if d.is_dir()}


def build(traces: Path) -> None:
    """`order` tells the browser which cards there are, in the catalog's order."""
    reports = {m: report for m in TUNED if (report := tuned.load(m))}
    explain.explain("methods", traces, order=list(catalog.LABELS), sizes=sizes(), tuned=reports)
