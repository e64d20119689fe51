"""`specscope traces record`: records the shipped runs (assets/traces) again from their list, assets/prompts/recordings.toml."""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.checkpoints.load import Pair
from core.decoding.loop import Options
from core.errors import UserError
from core.measuring import costs, stats
from core.methods import registry
from core.runs import prompts
from core.runs.runner import Request, Run
from core.sampling.probs import Sampling

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = prompts.FILE.with_name("recordings.toml")


def listed() -> list[dict[str, Any]]:
    """The entries of the list: example, method and options of each run."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["run"]


def record(pair: Pair, out: Path, only: str | None = None, report: Callable[[str], None] = lambda m: None) -> list[Path]:
    """Run every listed run that this pair can do and write OUT/<name>.json. Raises UserError if none is called `only`."""
    able = {m.name for m in registry.available(pair)}
    passes, written = None, []
    for entry in listed():
        name = name_of(entry)
        if (only and only != name) or entry["method"] not in able:
            continue
        request = request_of(entry)
        proposer = registry.get(request.method).proposer(pair, request.settings)
        proposer.forget()
        measured = costs.measure(pair.target, proposer, passes)
        passes = measured["verify_s"]
        run = Run(pair, request, measured)
        for _ in run.rounds():
            pass
        plain = None
        if request.method != "plain":
            for so_far in run.plain():
                plain = stats.plain_record(so_far)
        path = out / f"{name}.json"
        run.trace(plain).write(path)
        written.append(path)
        report(f"{name}: {run.totals.new_tokens} tokens in {run.totals.rounds} passes")
    if not written:
        raise UserError(f"Nothing in {LIST.name} is called {only!r} and can run here.")
    return written


def name_of(entry: dict[str, Any]) -> str:
    """The name of a run's file: <example>-<method>, then -<verify> where that is not chain."""
    return "-".join([entry["example"], entry["method"], *([entry["verify"]] if entry.get("verify", "chain") != "chain" else [])])


def request_of(entry: dict[str, Any]) -> Request:
    """The request of one entry of the list."""
    options = Options(entry.get("max_new_tokens", 96), entry.get("draft_len", 4), Sampling(entry.get("temperature", 0.0)), entry.get("seed", 0),
                      verify=entry.get("verify", "chain"), grammar=prompts.structured().get(entry["example"], (None, None))[1])
    return Request(prompts.shown()[entry["example"]], method=entry["method"], options=options, settings=entry.get("settings", {}))
