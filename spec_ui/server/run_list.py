"""The recorded runs as a short list: what each one is and what it came to. The browser fetches a file when it is chosen."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.methods import catalog
from core.runs import prompts
from spec_ui.server import recordings

log = logging.getLogger(__name__)


def files(folder: Path) -> list[Path]:
    """The files of the recordings that can be read, as they are served."""
    known = recordings.load(folder)
    return [p for p in sorted([*folder.glob("*.json"), *folder.glob("*.ndjson")]) if p.stem in known]


@lru_cache
def load(folder: Path) -> tuple[dict[str, Any], ...]:
    """One entry a recording, in the order of the examples and then of the methods: every tab lists them so."""
    found = []
    for path in files(folder):
        try:
            found.append(_entry(path, recordings.load(folder)[path.stem]))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            log.warning("Recorded run %s is not listed: %s", path.name, type(error).__name__)
    return tuple(sorted(found, key=_order))


def _order(entry: dict[str, Any]) -> tuple:
    names = list(prompts.shown())
    known = names.index(entry["example"]) if entry["example"] in names else len(names)
    return known, entry["example"], catalog.in_order(entry["method"]), entry["name"]


def _entry(path: Path, ndjson: str) -> dict[str, Any]:
    head, *rounds, last = [json.loads(line) for line in ndjson.splitlines()]
    run, totals, plain = head["run"], last["totals"], last.get("plain") or {}
    return {
        "name": path.stem,
        "path": path.resolve().as_posix(),
        "example": path.stem.split("-")[0],
        "method": run.get("method", ""),
        "lossless": run.get("lossless", True),
        "target": run.get("target", ""),
        "temperature": run.get("sampling", {}).get("temperature"),
        "verify": run.get("verify", "chain"),
        "seed": run.get("seed"),
        "grammar": run.get("grammar"),
        "draft_len": run.get("draft_len"),
        "costs": run.get("costs") or {},
        "tested": totals.get("tested") or 0,
        "accepted": totals.get("accepted") or 0,
        "several": any(d.get("parent", i - 1) != i - 1 for r in rounds for i, d in enumerate(r["drafted"])),
        "tokens_per_round": totals.get("tokens_per_round"),
        "ratio": _ratio(rounds, plain.get("elapsed_s") or []),
        "cost": _cost(rounds, plain.get("elapsed_s") or []),
    }


def _ratio(rounds: list[dict], plain: list[float]) -> float | None:
    """Plain over speculative wall time for the same number of tokens, as assets/js/trace/tally.js counts it; None where plain was not timed."""
    done = [(sum(len(r["emitted"]) for r in rounds[: i + 1]), r["elapsed_s"]) for i, r in enumerate(rounds)]
    n = min(done[-1][0] if done else 0, len(plain))
    spent = next((seconds for tokens, seconds in done if tokens >= n), 0)
    return plain[n - 1] / spent if n > 1 and spent > 0 else None


def _cost(rounds: list[dict], plain: list[float]) -> float | None:
    """The cost of a round that drafted, in plain steps as measured; None where plain decoding was not timed."""
    before = [0.0, *(r["elapsed_s"] for r in rounds)]
    spent = [r["elapsed_s"] - before[i] for i, r in enumerate(rounds) if r["drafted"]]
    step = (plain[-1] - plain[0]) / (len(plain) - 1) if len(plain) > 1 else 0
    return sum(spent) / len(spent) / step if spent and step > 0 else None
