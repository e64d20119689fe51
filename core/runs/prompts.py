"""The six example prompts that the page, `bench` and `tune` share (assets/prompts/examples.toml)."""
from __future__ import annotations

import sys

from core.assets import ASSETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = ASSETS / "prompts" / "examples.toml"


def examples() -> dict[str, str]:
    """Name -> prompt, in the file's order."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {e["name"]: e["ask"] + ("\n\n" + e["passage"].strip() if "passage" in e else "") for e in data["example"]}
