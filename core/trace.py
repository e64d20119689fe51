"""The record of a run, all that spec_ui learns of one: Trace = run facts + rounds + totals (+ the plain run). JSON version 1.

Two written forms parse alike: one JSON object (`.json`), or a stream (`.ndjson`): line 1 `{version, run}`, one line a round,
last `{totals, plain}`. A live stream may repeat the last line; the newest one counts. Every key is described in
assets/trace.schema.json. All times are seconds, all sizes bytes.
"""
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.assets import ASSETS
from core.errors import EnvironmentFailure, UserError

VERSION = 1
SCHEMA = ASSETS / "trace.schema.json"
STOPS = ("eos", "length", "stop_string", "cancelled")


@dataclass
class Drafted:
    """A drafted token. p and q are its probabilities under target and draft, after all sampling options; accepted iff u < threshold."""
    id: int
    text: str
    parent: int                 # -1 root; i-1 in a chain; index into Round.drafted in a tree
    p: float
    q: float
    u: float | None             # None when greedy or coupled: no uniform was drawn
    threshold: float | None     # the acceptance probability that u is compared with: p/q in a chain, 1 or 0 if coupled; None where none was computed
    verdict: str                # accepted | rejected | not_reached
    forced: bool = False        # structured output: the only token that the grammar allows there


@dataclass
class Emitted:
    """An output token, and where it came from."""
    id: int
    text: str
    kind: str                   # accepted | recovered | bonus | plain
    forced: bool = False        # structured output: the only token that the grammar allowed there


@dataclass
class Table:
    """p and q at one position of the target's pass. Listed ids: the likeliest of p, the likeliest of q and the drafted ones, likeliest first."""
    after: int                  # index in Round.drafted of the token this position follows; -1 root
    ids: list[int]
    texts: list[str]
    p: list[float]
    q: list[float] | None       # None where nothing was drafted, as at the bonus position
    residual: list[float] | None  # the distribution that the recovered token was drawn from; None where nothing was recovered
    logit_p: list[float]
    logit_q: list[float | None] | None
    overlap: float | None       # sum over the whole vocabulary of min(p, q)
    others: dict[str, float | None]   # sums of p, q, overlap and residual over the ids that are not listed
    mask: dict[str, Any] | None = None  # structured output: number of allowed ids, mass removed, the likeliest removed ids, texts, p


@dataclass
class Round:
    """One round: a draft, one pass of the target over it, the tokens that come out. Round 0 is the prompt's pass and drafts nothing."""
    index: int
    start: int                  # position of the round's first emitted token; 0 = first new token
    draft_len: int              # tokens (in a tree: levels) that the proposer was asked for
    drafted: list[Drafted] = field(default_factory=list)
    emitted: list[Emitted] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    draft_s: float = 0.0
    verify_s: float = 0.0
    other_s: float = 0.0
    elapsed_s: float = 0.0      # since the start of the run, the prompt's pass included

    def to_json(self) -> dict[str, Any]:
        out = dict(vars(self))
        for key in ("drafted", "emitted", "tables"):
            out[key] = [{k: v for k, v in vars(x).items() if v or k not in ("forced", "mask")} for x in out[key]]
        return out

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Round:
        known = {k: data[k] for k in cls.__dataclass_fields__ if k in data}
        for key, kind in (("drafted", Drafted), ("emitted", Emitted), ("tables", Table)):
            known[key] = [kind(**{k: d[k] for k in kind.__dataclass_fields__ if k in d}) for d in known.get(key, [])]
        return cls(**known)


@dataclass
class Totals:
    """The sums and rates of a run. Rates are None where their denominator is 0."""
    text: str = ""
    new_tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    forced: int = 0                            # emitted tokens that a grammar forced; these are in none of the rates of drafts
    tested: int = 0
    acceptance_rate: float | None = None       # accepted / drafted (tree: / depths drafted)
    tested_rate: float | None = None           # accepted / tested
    acceptance_by_position: list[float] = field(default_factory=list)
    tokens_per_round: float | None = None      # emitted by rounds that drafted / those rounds
    ttft_s: float = 0.0
    decode_s: float = 0.0                      # from the first token to the last
    tokens_per_s: float | None = None          # new_tokens / (ttft_s + decode_s)
    peak_memory_bytes: int | None = None
    stop: str = "length"


@dataclass
class Trace:
    """A whole run. `plain`: the times of plain decoding of the same prompt, if it was measured."""
    run: dict[str, Any]
    rounds: list[Round] = field(default_factory=list)
    totals: Totals | None = None
    plain: dict[str, Any] | None = None
    version: int = VERSION

    @property
    def emitted_ids(self) -> list[int]:
        return [e.id for r in self.rounds for e in r.emitted]

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version, "run": self.run, "rounds": [r.to_json() for r in self.rounds],
                "totals": asdict(self.totals) if self.totals else None, "plain": self.plain}

    def lines(self) -> Iterator[str]:
        """The stream form, line by line, each with its line end."""
        yield head_line(self.run)
        yield from map(round_line, self.rounds)
        yield last_line(self.totals, self.plain)

    def write(self, path: str | Path) -> None:
        """Write the stream form if the name ends in .ndjson, else one JSON object. A failure raises EnvironmentFailure and leaves the old file."""
        path = Path(path)
        text = "".join(self.lines()) if path.suffix == ".ndjson" else dumps(self.to_json()) + "\n"
        write_text(path, text)


def dumps(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def head_line(run: dict[str, Any]) -> str:
    return dumps({"version": VERSION, "run": run}) + "\n"


def round_line(round_: Round) -> str:
    return dumps(round_.to_json()) + "\n"


def last_line(totals: Totals | None, plain: dict[str, Any] | None) -> str:
    return dumps({"totals": asdict(totals) if totals else None, "plain": plain}) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a temporary file in the same folder and rename it, so that no half-written file is left. Raises EnvironmentFailure."""
    try:
        if path.exists() and not path.is_file():       # /dev/stdout or a pipe: it cannot be replaced by a rename
            path.write_text(text, encoding="utf-8")
            return
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent or ".", prefix=".specscope-", delete=False) as tmp:
            try:
                tmp.write(text)
                tmp.close()
                umask = os.umask(0)
                os.umask(umask)
                os.chmod(tmp.name, 0o666 & ~umask)
                os.replace(tmp.name, path)
            except BaseException:
                os.unlink(tmp.name)
                raise
    except OSError as error:
        raise EnvironmentFailure(f"Cannot write {path}: {error.strerror or error}; choose another place.") from None


def parse(text: str) -> Trace:
    """Read either written form. Raises UserError that names the first fault."""
    try:
        objects = [_loads(text)]
    except ValueError:
        objects = _parse_lines(text)
    return join(objects)


def _loads(text: str) -> Any:
    """One JSON value. Raises ValueError, also for NaN, infinities (Python's json would accept them) and nesting that is too deep."""
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON number")
    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _parse_lines(text: str) -> list[Any]:
    objects = []
    for number, line in enumerate(text.split("\n"), 1):   # not splitlines, which also splits at U+2028 inside a text
        if line.strip():
            try:
                objects.append(_loads(line))
            except ValueError as error:
                raise UserError(f"Not a trace: line {number} is not JSON ({getattr(error, 'msg', error)}).") from None
    return objects


def join(objects: Iterable[Any]) -> Trace:
    """The parsed objects of a file (one) or of a stream (one a line) -> Trace. Raises UserError if they break the schema."""
    data: dict[str, Any] = {}
    rounds: list[Any] = []
    for item in objects:
        if not isinstance(item, dict):
            raise UserError("Not a trace: expected a JSON object.")
        if "index" in item:
            rounds.append(item)
        else:
            data.update(item)
    data = {**data, "rounds": rounds} if rounds else {"rounds": rounds, **data}
    check(data)
    totals = data.get("totals")
    return Trace(run=data["run"], rounds=[Round.from_json(r) for r in data["rounds"]],
                 totals=Totals(**{k: v for k, v in totals.items() if k in Totals.__dataclass_fields__}) if totals else None,
                 plain=data.get("plain"), version=data["version"])


def check(data: dict[str, Any]) -> None:
    """Validate a trace against assets/trace.schema.json. Raises UserError that names the first bad key."""
    import jsonschema
    if data.get("version") != VERSION:
        raise UserError(f"This trace says version {data.get('version')!r}; this program reads version {VERSION}.")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for error in validator.iter_errors(data):
        place = "/".join(map(str, error.absolute_path)) or "top level"
        raise UserError(f"Not a valid trace: {place}: {error.message[:160]}.")


def read(path: str | Path) -> Trace:
    """Read a trace file, either form. Raises UserError if it cannot be read or is no trace."""
    try:
        return parse(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UserError(f"Cannot read {path}: it is not UTF-8 text.") from None
