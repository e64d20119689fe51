"""Ready pairs from the Hub, by the size of the GPU they want (assets/presets.toml). Nothing is fetched until one is named with --pair."""
from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import cache

from core.assets import ASSETS
from core.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = ASSETS / "presets.toml"
EMBEDDED = "smollm2"        # the default, which comes from PyPI and not from the Hub


@dataclass(frozen=True)
class Preset:
    """A target and its draft. A revision is a commit hash, or "main" where none could be verified."""
    name: str
    gpu_gb: int                     # memory of the GPU it is meant for, in 10^9 bytes
    needs_gb: float                 # weights of target and draft in 16 bits
    target: str
    target_revision: str
    target_licence: str
    target_type: str                # model_type of its config.json
    method: str                     # what it is there to show
    draft: str = ""                 # Hub id; "assets" = this project's own heads for it; "" = the method needs none
    draft_revision: str = ""
    draft_licence: str = ""
    draft_format: str = ""          # what formats.sniff says of it
    gated: bool = False
    note: str = ""

    @property
    def pinned(self) -> bool:
        return "main" not in (self.target_revision, self.draft_revision)


@cache
def all_() -> dict[str, Preset]:
    """Name -> preset, in the file's order (by GPU). Raises UserError for a file with other keys."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    known = {f.name for f in fields(Preset)}
    for entry in data["pair"]:
        if set(entry) - known:
            raise UserError(f"{FILE}: {entry.get('name')!r} has keys that no preset has: {', '.join(sorted(set(entry) - known))}.")
    return {entry["name"]: Preset(**entry) for entry in data["pair"]}


def names() -> list[str]:
    return [EMBEDDED, *all_()]


def get(name: str) -> Preset:
    if name not in all_():
        raise UserError(f"There is no pair {name!r}; known: {', '.join(names())}. Any other model: --target PATH_OR_ID.")
    return all_()[name]


def fitting(free: int) -> list[Preset]:
    """Pairs whose weights leave a tenth of `free` bytes for the rest, smallest first."""
    return sorted((p for p in all_().values() if p.needs_gb * 1e9 <= 0.9 * free), key=lambda p: p.needs_gb)


def table(free: int | None) -> str:
    """For `specscope check presets`: every pair, whether it fits `free` bytes, its licences and what is not pinned."""
    lines = []
    for size in sorted({p.gpu_gb for p in all_().values()}):
        lines.append(f"for a GPU of {size} GB")
        for p in (p for p in all_().values() if p.gpu_gb == size):
            fits = "" if free is None else ", fits here" if p in fitting(free) else ", does not fit here"
            lines.append(f"  --pair {p.name} --method {p.method}   {p.needs_gb:.1f} GB{fits}")
            lines.append(f"      target {p.target}@{p.target_revision[:12]} ({p.target_licence}{', gated' if p.gated else ''})")
            if p.draft:
                where = "this project's heads" if p.draft == "assets" else f"{p.draft}@{p.draft_revision[:12]} ({p.draft_licence})"
                lines.append(f"      draft {where}")
            if p.note:
                lines.append(f"      {p.note}")
    lines.append("A pair at @main is not pinned: its commit could not be verified when this list was made, so what is fetched may change.")
    return "\n".join(lines)
