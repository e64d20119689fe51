"""The tab "Methods": a card for each proposer and the recorded methods side by side, drawn in the browser (assets/js/methods*.js)."""

from __future__ import annotations

from pathlib import Path

from spec_ui.components.explain import of_runs
from spec_ui.server import tuned
from spec_ui.server.bundle import ASSETS

LABEL = "Methods"
TUNED = ("early-exit",)  # methods whose card shows what `specscope tune` found


def sizes(folder: Path = ASSETS / "smollm2") -> dict[str, int]:
    """Bytes of the weights of each draft that ships with the app, by its folder's name, which is the method's."""
    return {d.name: sum(f.stat().st_size for f in d.glob("*.safetensors")) for d in sorted(folder.glob("*")) if d.is_dir()}


def build(traces: Path) -> None:
    of_runs("methods", traces, sizes=sizes(), tuned={m: report for m in TUNED if (report := tuned.load(m))})
