"""Where the shipped data lies: presets, prompts, recorded traces, trained drafts, style sheets and scripts.

In a checkout, and after an editable install, that is the folder `assets` beside `core`. A wheel installs the same folder under the name
`specscope_assets`, because a folder `assets` in site-packages could belong to anybody.
"""
from __future__ import annotations

from pathlib import Path

from core.errors import EnvironmentFailure

_BESIDE = Path(__file__).resolve().parent.parent
ASSETS = _BESIDE / "specscope_assets" if (_BESIDE / "specscope_assets").is_dir() else _BESIDE / "assets"


def holds(path: str | Path | None) -> bool:
    """Whether the path is one of the shipped files or would be, were it there."""
    return isinstance(path, (str, Path)) and Path(path).is_relative_to(ASSETS)


def missing(path: str | Path) -> EnvironmentFailure:
    """The failure to raise where a shipped file is not there: the installation is broken, and nothing that the user typed can mend it."""
    return EnvironmentFailure(f"This copy of Specscope is incomplete: {path} is missing; install it again.")
