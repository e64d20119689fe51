"""Which format a folder holds, by the names of its tensors: configs of draft heads are often copies of the target's."""
from __future__ import annotations

import re
from pathlib import Path

from core.checkpoints import weights
from core.checkpoints.formats.files import MEDUSA_FILES, headers, names
from core.errors import UserError

METHOD_OF = {"speculators": "eagle", "eagle3": "eagle", "eagle": "eagle", "medusa": "medusa", "medusa-1.0": "medusa",
             "medusa-vllm": "medusa", "model": "draft"}


def sniff(folder: Path) -> str:
    """`speculators`, `eagle3`, `eagle` (1 and 2), `medusa` (v0.1), `medusa-1.0`, `medusa-vllm`, or `model`: none of these.

    Raises UserError for unreadable files and for speculators of a kind that is not drafted with here.
    """
    config = weights.read_config(folder) if (folder / "config.json").is_file() else {}
    kind = config.get("speculators_model_type")
    if kind is not None:
        if kind != "eagle3":
            raise UserError(f"{folder} holds a speculators draft of type {kind!r}; only 'eagle3' can be run.")
        return "speculators"
    found = names(folder)
    if "d2t" in found or any(n.startswith("midlayer.") for n in found) or "layers.0.hidden_norm.weight" in found:
        return "eagle3"
    if "fc.weight" in found and "layers.0.input_layernorm.weight" not in found:
        fc = found["fc.weight"] if found["fc.weight"] is not None else headers(folder)["fc.weight"]
        if fc.ndim == 2 and fc.shape[1] == 2 * fc.shape[0]:
            return "eagle"
    if any((folder / n).is_file() for n in MEDUSA_FILES) or any(re.match(r"\d+\.\d+\.linear\.weight$", n) for n in found):
        return "medusa"
    if any(n.startswith("medusa_head.") for n in found):
        return "medusa-1.0"
    if any(re.match(r"blocks\.\d+\.layers\.", n) for n in found):
        return "medusa-vllm"
    return "model"


def method_of(folder: Path) -> str:
    """The method that drafts with this folder: draft, eagle or medusa."""
    return METHOD_OF[sniff(folder)]
