"""The recorded runs of assets/traces, which the page shows without a model. Read once and held as NDJSON text."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from pathlib import Path

from core.assets import ASSETS

log = logging.getLogger(__name__)
FOLDER = ASSETS / "traces"


def _dump(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def with_source(head: str, source: str, **more: object) -> str:
    """The stream's first line with its source, recorded or live, and more keys, which other readers ignore."""
    return _dump({**json.loads(head), "source": source, **more})


def to_ndjson(text: str, name: str = "") -> str:
    """A Trace in its stream form (NDJSON), read from either form, with the recording's name, by which the page's address names it."""
    try:
        data = json.loads(text)
    except ValueError:
        head, rest = text.split("\n", 1)
        return with_source(head, "recorded", name=name) + rest
    lines = [
        {"version": data["version"], "run": data["run"], "source": "recorded", "name": name},
        *data["rounds"],
        {"totals": data["totals"], "plain": data.get("plain")},
    ]
    return "".join(map(_dump, lines))


@lru_cache
def load(folder: Path) -> dict[str, str]:
    """{"<example>-<method>": NDJSON}, by name. A file that cannot be read is left out, with a line in the log."""
    found = {}
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.ndjson")]):
        try:
            found[path.stem] = to_ndjson(path.read_text(encoding="utf-8"), path.stem)
        except (OSError, ValueError, KeyError) as error:
            log.warning("Recorded run %s was left out: %s", path.name, type(error).__name__)
    return found


def first(folder: Path) -> tuple[str | None, str]:
    """(example, NDJSON) that the page opens with: the chat example, by EAGLE if that was recorded."""
    runs = load(folder)
    name = next((n for n in ("chat-eagle", "chat-draft", "chat", *runs) if n in runs), None)
    return (name.split("-")[0], runs[name]) if name else (None, "")


def methods(folder: Path) -> list[str]:
    """The methods that have a recording, in the order of the files."""
    return list(dict.fromkeys(m for run in load(folder).values() if (m := method_of(run))))


def facts(ndjson: str) -> dict:
    """A recording's `run`; empty where there is no recording."""
    return json.loads(ndjson.split("\n", 1)[0])["run"] if ndjson else {}


def prompt_of(ndjson: str) -> str:
    """The prompt a recording was made with, for the prompt box."""
    return str(facts(ndjson).get("prompt") or "")


def method_of(ndjson: str) -> str:
    return str(facts(ndjson).get("method") or "")
