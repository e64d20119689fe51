"""Token ids to text and back. Tokenizers and chat templates are those of transformers; how one token reads on the page is ours."""
from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from core.errors import UserError
from core.json_file import read_object

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

VOCABULARY_FILES = ("tokenizer.json", "vocab.*", "*.model", "*.tiktoken", "tekken.json", "*.spm")
INCOMPLETE = "\ufffd"       # what a decoder writes for bytes that are no whole character
TEMPLATE_SECONDS = 10.0     # a chat template that runs for longer is refused


class NoText:
    """A target without a tokenizer: the text of token 5 is `<5>`."""

    size: int | None = None
    added: frozenset[int] = frozenset()
    special: frozenset[int] = frozenset()

    def piece(self, token: int) -> str:
        return f"<{token}>"

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        return "".join(map(self.piece, tokens))

    def encode(self, text: str, special: bool = True) -> list[int]:
        raise UserError("This target has no tokenizer: give --prompt-ids 1,5,9 instead of --prompt.")

    def chat(self, prompt: str, system: str | None) -> list[int]:
        return self.encode(prompt)


class Text:
    """A tokenizer of transformers, with its chat template if it has one.

    size: the highest token id plus one (tokens that only the config declares count). added: ids of the tokens that were added to the
    vocabulary. special: those of them that do not show in a decoded text.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        added = tokenizer.added_tokens_decoder
        self.tokenizer = tokenizer
        self.size = max(tokenizer.get_vocab().values(), default=-1) + 1
        self.added = frozenset(added)
        self.special = frozenset(i for i, token in added.items() if token.special)
        self._pieces: dict[int, str] = {}

    @classmethod
    def from_folder(cls, folder: Path) -> Text | NoText:
        """The tokenizer of a checkpoint folder, NoText where it has none. Raises UserError for one that cannot be read or brings Python code."""
        if not any(any(folder.glob(files)) for files in VOCABULARY_FILES):
            return NoText()
        config_file = folder / "tokenizer_config.json"
        config = read_object(config_file) if config_file.exists() else {}
        code = config.get("auto_map")
        if code and (not isinstance(code, dict) or "AutoTokenizer" in code):
            raise UserError(f"The tokenizer in {folder} is Python code of its own (auto_map in tokenizer_config.json), which is never run here: "
                            "take another model, or a copy of the folder without that entry.")
        try:
            return cls(_load(folder, config))
        except Exception as error:          # whatever transformers makes of strange files, one sentence says so
            hint = "" if (folder / "tokenizer.json").exists() else "; a folder with tokenizer.json needs no other package"
            raise UserError(f"The tokenizer in {folder} cannot be read ({_reason(error)}){hint}.") from None

    def name(self, token: int) -> str | None:
        """The token as the vocabulary spells it; None where the id has no token."""
        return self.tokenizer.convert_ids_to_tokens(token)

    def piece(self, token: int) -> str:
        """One token as it reads: special tokens by name, bytes that are no whole character as `<0xE4>`, an id without a token as `<5>`."""
        if token not in self._pieces:
            self._pieces[token] = self._read_piece(token)
        return self._pieces[token]

    def _read_piece(self, token: int) -> str:
        name = self.name(token)
        if name is None:
            return f"<{token}>"
        if token in self.special:
            return name
        text = self.tokenizer.convert_tokens_to_string(["a", name])     # behind a letter: a decoder may strip a text's first space
        if not text.startswith("a"):
            return name
        if INCOMPLETE not in text or not set(name) <= _byte_of().keys():
            return text[1:]
        if re.fullmatch("<0x[0-9A-F]{2}>", name):
            return name
        raw = bytes(_byte_of()[c] for c in name).decode("utf-8", "surrogateescape")
        return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in raw)

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        """The text of a sequence. special: special tokens are shown by their names."""
        return self.tokenizer.decode(list(tokens), skip_special_tokens=not special)

    def encode(self, text: str, special: bool = True) -> list[int]:
        """special: with the marks that the tokenizer itself puts around a text, such as a begin token."""
        return self.tokenizer.encode(text, add_special_tokens=special, verbose=False)

    def chat(self, prompt: str, system: str | None) -> list[int]:
        """One user turn through the chat template, up to where the answer begins; without a template the text as it is.

        Raises UserError where the template fails or runs for more than TEMPLATE_SECONDS.
        """
        if not self.tokenizer.chat_template:
            return self.encode(prompt if system is None else f"{system}\n\n{prompt}")
        turns = ([{"role": "system", "content": system}] if system is not None else []) + [{"role": "user", "content": prompt}]
        try:
            with _deadline(TEMPLATE_SECONDS):
                text = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        except Exception as error:          # a template is a program from somewhere else: it can fail in any way
            raise UserError(f"The model's chat template refuses this prompt ({_reason(error)}); use --raw to skip it.") from None
        return self.encode(text, special=False)


def first_difference(a: Text | NoText, b: Text | NoText) -> int | None:
    """The first id that has a token in both and reads differently there. None where there is none, or a side has no tokenizer.

    Only what the ids mean counts, not how the files spell it: a token is the same if its name or its text is.
    """
    for i in range(min(a.size or 0, b.size or 0)):
        names = a.name(i), b.name(i)
        if None not in names and names[0] != names[1] and a.piece(i) != b.piece(i):
            return i
    return None


def _load(folder: Path, config: dict[str, Any]) -> PreTrainedTokenizerBase:
    model_file = folder / "config.json"
    model = read_object(model_file) if model_file.exists() else {}
    kind = config.get("tokenizer_class") or model.get("tokenizer_class")
    if model.get("model_type") == "llama" and kind in (None, "PreTrainedTokenizerFast", "TokenizersBackend"):
        from transformers import PreTrainedTokenizerFast as Loader  # what AutoTokenizer chooses for these, loaded in half its time
    else:
        from transformers import AutoTokenizer as Loader
    from transformers.utils import logging
    logging.set_verbosity_error()           # its warnings are for programmers
    return Loader.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raises TimeoutError from inside a chat template that is still running after `seconds`. Only this thread is watched."""
    end = time.monotonic() + seconds

    def watch(frame: FrameType, event: str, arg: Any) -> Any:
        if time.monotonic() > end:
            raise TimeoutError(f"it was still running after {seconds:g} seconds")
        return watch if frame.f_code.co_filename == "<template>" else None      # line by line in the template alone

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """The printable characters that stand for the 256 bytes in a byte-level vocabulary -> the byte (Radford et al. 2019)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}
