"""Token ids <-> text. Byte-level pieces that are no whole character are shown as their bytes, `<0xF0>`."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.json_file import read_object


class NoText:
    """A target without a tokenizer: texts are `<5>`."""

    size: int | None = None

    def piece(self, token: int) -> str:
        return f"<{token}>"

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        return "".join(map(self.piece, tokens))

    def encode(self, text: str, special: bool = True) -> list[int]:
        raise UserError("This target has no tokenizer: give --prompt-ids 1,5,9 instead of --prompt.")

    def chat(self, prompt: str, system: str | None) -> list[int]:
        return self.encode(prompt)


class Text:
    """A tokenizer.json with, if the folder has one, its chat template (rendered in a sandbox)."""

    def __init__(self, tokenizer: Any, template: str | None = None, names: dict[str, str] | None = None) -> None:
        self.tokenizer = tokenizer
        self.template = template
        self.names = names or {}
        self.size = max(tokenizer.get_vocab().values(), default=-1) + 1
        self.added = set(tokenizer.get_added_tokens_decoder())
        self.byte_level = type(tokenizer.decoder).__name__ == "ByteLevel"
        self._pieces: dict[int, str] = {}

    @classmethod
    def from_folder(cls, folder: Path) -> Text | NoText:
        from tokenizers import Tokenizer
        file = folder / "tokenizer.json"
        if not file.exists():
            return _slow(folder)
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:       # the library raises bare Exception for any malformed file
            raise UserError(f"{file} is not a tokenizer ({str(error)[:120]}).") from None
        config_file = folder / "tokenizer_config.json"
        config = read_object(config_file) if config_file.exists() else {}
        template = config.get("chat_template")
        if (folder / "chat_template.jinja").exists():
            template = (folder / "chat_template.jinja").read_text(encoding="utf-8")
        if isinstance(template, list):   # several named templates: the default one
            template = next((t["template"] for t in template if t.get("name") == "default"), None)
        names = {k: v["content"] if isinstance(v, dict) else v for k, v in config.items() if k in ("bos_token", "eos_token", "unk_token")}
        return cls(tokenizer, template, {k: v for k, v in names.items() if v})

    def piece(self, token: int) -> str:
        """One token as it reads; special tokens by name, incomplete UTF-8 as <0xE4>."""
        if token not in self._pieces:
            self._pieces[token] = self._read_piece(token)
        return self._pieces[token]

    def _read_piece(self, token: int) -> str:
        name = self.tokenizer.id_to_token(token)
        if name is None:
            return f"<{token}>"
        if token in self.added:
            return name
        if not self.byte_level:
            return name.replace("\u2581", " ")
        try:
            raw = bytes(_bytes()[c] for c in name)
        except KeyError:                 # an added word that is not byte-coded
            return name
        return "".join(f"<0x{ord(c) - 0xDC00:02X}>" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in raw.decode("utf-8", "surrogateescape"))

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        """special: special tokens are shown by their names."""
        return self.tokenizer.decode(list(tokens), skip_special_tokens=not special)

    def encode(self, text: str, special: bool = True) -> list[int]:
        """special: with the marks that the tokenizer itself puts around a text, such as a begin token."""
        return self.tokenizer.encode(text, add_special_tokens=special).ids

    def chat(self, prompt: str, system: str | None) -> list[int]:
        """One user turn through the chat template, ready for the answer; plain text where there is no template."""
        if not self.template:
            return self.encode(prompt if system is None else f"{system}\n\n{prompt}")
        turns = ([{"role": "system", "content": system}] if system is not None else []) + [{"role": "user", "content": prompt}]
        return self.tokenizer.encode(self._render(turns), add_special_tokens=False).ids

    def _render(self, turns: list[dict[str, str]]) -> str:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(message: str) -> None:
            raise TemplateError(message)

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.globals["raise_exception"] = refuse
        try:
            return environment.from_string(self.template).render(messages=turns, add_generation_prompt=True, **self.names)
        except Exception as error:      # a template is a program from somewhere else: it can fail in any way
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            raise UserError(f"The model's chat template refuses this prompt ({reason}); use --raw to skip it.") from None


def _slow(folder: Path) -> Text | NoText:
    """Folders without tokenizer.json: let transformers convert what is there (needs its extra packages for some models)."""
    if not any((folder / f).exists() for f in ("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")):
        return NoText()
    from transformers import AutoTokenizer
    try:
        slow = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        return Text(slow.backend_tokenizer, slow.chat_template, {k: v for k, v in slow.special_tokens_map.items() if isinstance(v, str)})
    except Exception as error:           # whatever the conversion lacks, one sentence says so
        raise UserError(f"The tokenizer in {folder} cannot be read ({str(error).splitlines()[0][:160]}).") from None


@lru_cache(maxsize=1)
def _bytes() -> dict[str, int]:
    """GPT-2's printable stand-ins for the 256 bytes (Radford et al. 2019), the other way round."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(rest)}
