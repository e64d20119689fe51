"""The six example prompts that the page, `bench` and `tune` share (assets/prompts/examples.toml), and those whose output has a form
(assets/prompts/structured.toml)."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from core.assets import ASSETS
from core.grammar.constraint import Constraint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = ASSETS / "prompts" / "examples.toml"


def examples() -> dict[str, str]:
    """Name -> prompt, in the file's order."""
    return {e["name"]: _prompt(e) for e in _read(FILE)}


def structured() -> dict[str, tuple[str, Constraint]]:
    """Name -> (prompt, what the output must be)."""
    return {e["name"]: (_prompt(e), Constraint.of("json_schema", e["schema"])) for e in _read(FILE.with_name("structured.toml"))}


def shown() -> dict[str, str]:
    """Name -> prompt of all examples that the page shows."""
    return examples() | {name: prompt for name, (prompt, _) in structured().items()}


def _read(file: Path) -> list[dict[str, Any]]:
    return tomllib.loads(file.read_text(encoding="utf-8"))["example"]


def _prompt(entry: dict[str, Any]) -> str:
    return entry["ask"] + ("\n\n" + entry["passage"].strip() if "passage" in entry else "")
