"""What a user asks of the output's form. Free of torch and of the grammar library, so that command line and page can check it early."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import UserError

KINDS = {"json_schema": "--json-schema", "regex": "--regex", "choice": "--choice"}       # kind -> the option that gives it
MOST_CHARS = 100_000


@dataclass(frozen=True)
class Constraint:
    """kind: json_schema | regex | choice; value: the schema as JSON text, the pattern, or the choices as a JSON list."""
    kind: str
    value: str

    @property
    def flag(self) -> str:
        return KINDS[self.kind]

    @classmethod
    def of(cls, kind: Any, value: Any) -> Constraint:
        """kind with the schema (JSON text or parsed), the pattern, or the list of choices. Raises UserError for one that cannot be read."""
        if kind not in KINDS:
            raise UserError(f"A grammar is one of {', '.join(KINDS)}, not {str(kind)[:40]!r}.")
        if kind == "choice":
            text = json.dumps(_choices(value), ensure_ascii=False)
        elif kind == "regex":
            if not isinstance(value, str) or not value:
                raise UserError("--regex is empty: give the pattern that the whole output must match.")
            text = value
        else:
            text = _schema(value)
        if len(text) > MOST_CHARS:
            raise UserError(f"{KINDS[kind]} has {len(text)} characters; at most {MOST_CHARS} are read.")
        if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise UserError(f"{KINDS[kind]} is not UTF-8 text.")
        return cls(kind, text)

    @classmethod
    def chosen(cls, json_schema: str | None, regex: str | None, choice: Sequence[str]) -> Constraint | None:
        """From the options of the command line: the path of a schema or itself, a pattern, `A,B` or one choice each time. Raises UserError."""
        given = [flag for flag, x in zip(KINDS.values(), (json_schema, regex, choice or None)) if x is not None]
        if len(given) > 1:
            raise UserError(f"Give one of {' and '.join(given)}: each says by itself what the output may be.")
        if json_schema is not None and json_schema.lstrip().startswith("{"):
            return cls.of("json_schema", json_schema)
        if json_schema is not None:
            try:
                return cls.of("json_schema", Path(json_schema).read_text(encoding="utf-8"))
            except OSError as error:
                raise UserError(f"Cannot read {json_schema}: {error.strerror or error}.") from None
            except UnicodeDecodeError:
                raise UserError(f"Cannot read {json_schema}: it is not UTF-8 text.") from None
        if regex is not None:
            return cls.of("regex", regex)
        return cls.of("choice", choice[0].split(",") if len(choice) == 1 else choice) if choice else None

    def as_record(self) -> dict[str, Any]:
        """For the trace; `Constraint.of(**record)` reads it."""
        return {"kind": self.kind, "value": self.value if self.kind == "regex" else json.loads(self.value)}


def _choices(value: Any) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) for x in value):
        raise UserError("--choice wants texts, like yes,no.")
    found = list(dict.fromkeys(x.strip() for x in value))
    if not found or "" in found:
        raise UserError("--choice has an empty choice, which no output could be: give texts, like yes,no.", "grammar_choice_empty")
    return found


def _schema(value: Any) -> str:
    """JSON text or a parsed schema -> JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise UserError(f"--json-schema is not JSON ({getattr(error, 'msg', 'nested too deeply')}).", "grammar_json",
                            why=getattr(error, "msg", "nested too deeply")) from None
    if value is True:
        value = {}          # the schema that allows everything
    if not isinstance(value, dict):
        raise UserError('--json-schema must hold a JSON object, like {"type": "object", "properties": {…}}.', "grammar_object")
    return json.dumps(value, ensure_ascii=False)
