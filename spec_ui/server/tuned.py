"""What `specscope tune` measured for a method, read for the page from a report in assets/reports."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

from core.assets import ASSETS

log = logging.getLogger(__name__)
FOLDER = ASSETS / "reports"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None


def load(method: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """{target, prompts, new_tokens, temperature, rows: [{exit_layer, skip_layers, draft_len, ratio, agreement, tokens_per_round}]} of
    tune-<method>.json; None where there is no such report or it cannot be read (a line in the log says so)."""
    path = folder / f"tune-{method}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = [_row(r) for r in data["rows"]]
        facts = {"target": str(data["target"]), "prompts": int(data["prompts"]), "new_tokens": int(data["new_tokens"])}
        temperature = _number(data.get("temperature"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("Report %s was left out: %s", path.name, type(error).__name__)
        return None
    rows = [r for r in rows if None not in (r["ratio"], r["agreement"], r["tokens_per_round"])]
    return {**facts, "temperature": temperature, "rows": rows} if rows else None


def _row(row: dict[str, Any]) -> dict[str, Any]:
    layers = {name: str(row[name])[:40] if row.get(name) not in (None, "") else None for name in ("exit_layer", "skip_layers")}
    return {**layers, **{name: _number(row.get(name)) for name in ("draft_len", "ratio", "agreement", "tokens_per_round")}}
