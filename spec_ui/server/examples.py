"""The ready prompts (assets/prompts/examples.toml)."""

from __future__ import annotations

from functools import lru_cache

import tomllib

from core.assets import ASSETS


@lru_cache
def load() -> dict[str, str]:
    """{name: prompt} in the order of the file."""
    data = tomllib.loads((ASSETS / "prompts" / "examples.toml").read_text(encoding="utf-8"))
    return {e["name"]: e["ask"] + ("\n\n" + e["passage"].strip() if "passage" in e else "") for e in data["example"]}
