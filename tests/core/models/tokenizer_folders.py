"""Checkpoint folders without weights, for the tests of tokenizers."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tests.core import tiny

NEW = {"content": "<|im|>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
A, B, SPACE = 66, 67, 222        # ids of these characters in tiny.tokenizer()


def folder(at: Path, tokenizer: Tokenizer | None = None, config: dict[str, Any] | None = None, model_type: str = "llama", **files: Any) -> Path:
    """A checkpoint folder without weights; files: name with `_` for the dot -> content."""
    at.mkdir(exist_ok=True)
    (tokenizer or tiny.tokenizer()).save(str(at / "tokenizer.json"))
    (at / "config.json").write_text(json.dumps({"model_type": model_type}))
    if config is not None:
        files["tokenizer_config_json"] = config
    for name, content in files.items():
        file = at / ".".join(name.rsplit("_", 1))
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return at


def theirs(at: Path) -> Any:
    return AutoTokenizer.from_pretrained(str(at), local_files_only=True)
