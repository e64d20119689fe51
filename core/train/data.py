"""Training texts (prompts and what the target wrote after them) as JSON lines, and the split into training and held-out texts."""
from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError

HELD_OUT_SHARE = 32     # of the prompts without a held-out topic, one in this many is held out


@dataclass(frozen=True)
class Text:
    """One prompt (chat template applied) and the target's continuation, as token ids."""
    prompt: tuple[int, ...]
    written: tuple[int, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return self.prompt + self.written


def read(path: Path, vocab_size: int) -> list[Text]:
    """JSON lines {"p": [ids], "g": [ids]}, gzipped if the name ends in .gz. Raises UserError naming file and line."""
    texts = []
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    texts.append(_text(line, f"{path}, line {number}", vocab_size))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as training data ({error}).") from None
    if not texts:
        raise UserError(f"{path} holds no text.")
    return texts


def _text(line: str, where: str, vocab_size: int) -> Text:
    try:
        record = json.loads(line)
        text = Text(tuple(record["p"]), tuple(record["g"]))
    except (ValueError, KeyError, TypeError):
        raise UserError(f'{where}: expected {{"p": [prompt ids], "g": [written ids]}}.') from None
    if not text.prompt or not text.written:
        raise UserError(f"{where}: prompt and continuation must both hold at least one id.")
    if not all(type(i) is int and 0 <= i < vocab_size for i in text.ids):
        raise UserError(f"{where}: not every id is a token of this target (0 to {vocab_size - 1}); was it written by another model?")
    return text


def write(path: Path, texts: Iterable[Text]) -> None:
    """Append as JSON lines (not gzipped, so that an interrupted run can continue the file)."""
    with path.open("a", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"p": text.prompt, "g": text.written}, separators=(",", ":")) + "\n")


def sha256(paths: Iterable[Path]) -> dict[str, str]:
    """File name -> sha256, for the record of a training run."""
    out = {}
    for path in paths:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        out[path.name] = digest.hexdigest()
    return out


def split(texts: list[Text], held_out_topics: Iterable[str], decode: Callable[[list[int]], str] | None) -> list[bool]:
    """For each text, whether it is held out.

    A text whose prompt names a held-out topic is held out; so are all texts of one prompt in HELD_OUT_SHARE, chosen by the hash of
    the prompt. All texts of a prompt are thus on the same side, whatever else is in the data and in which order.
    """
    topics = [t.lower() for t in held_out_topics]
    held_out: dict[tuple[int, ...], bool] = {}
    for text in texts:
        if text.prompt not in held_out:
            named = decode(list(text.prompt)).lower() if decode and topics else ""
            digest = hashlib.sha256(json.dumps(text.prompt).encode()).digest()
            held_out[text.prompt] = any(t in named for t in topics) or digest[0] % HELD_OUT_SHARE == 0
    return [held_out[text.prompt] for text in texts]
