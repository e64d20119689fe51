"""The weight files of a draft head: names and shapes first, without reading the numbers; the numbers only when all is as it should be."""
from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import torch
from torch import Tensor

from core.checkpoints import tensor_files, weights
from core.errors import UserError
from core.json_file import read_object

MAPS = ("d2t", "t2d", "token_map")      # ids and masks; all else is numbers
MEDUSA_FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")


def weight_files(folder: Path) -> list[Path]:
    """Medusa's own file where it is there, else as any checkpoint's. Raises UserError."""
    own = [folder / name for name in MEDUSA_FILES if (folder / name).is_file()]
    return own[:1] or tensor_files.weight_files(folder)


def headers(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the folder by name, on the meta device: its shape without storage. Raises UserError."""
    return tensor_files.headers(weight_files(folder))


def tensors(folder: Path, want: dict[str, tuple[int, ...]], optional: dict[str, tuple[int, ...]], device: torch.device | str,
            found: dict[str, Tensor], origin: str = "the config") -> dict[str, Tensor]:
    """The tensors of `want` and those of `optional` that are there, in the file's dtypes, on `device`. found: `headers`. origin: who wants them.

    Raises UserError naming the first tensor that is missing, unexpected or of another shape, before any of them is read.
    """
    weights.compare(found, want | {name: shape for name, shape in optional.items() if name in found}, str(folder), origin)
    return numbers(folder, [name for name in found if not name.endswith(weights.IGNORED)], device)


def numbers(folder: Path, wanted: Collection[str], device: torch.device | str) -> dict[str, Tensor]:
    """The tensors of these names. Raises UserError for one that holds no finite numbers, or is quantised."""
    out = tensor_files.read(weight_files(folder), frozenset(wanted))
    for name, tensor in out.items():
        if name not in MAPS:
            tensor_files.refuse_quantised(name, tensor, str(folder))
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise UserError(f"{folder}: tensor {name!r} holds values that are no numbers; download it again.")
    return {name: tensor.to(device) for name, tensor in out.items()}


def names(folder: Path) -> dict[str, Tensor | None]:
    """Every tensor's name: with None where an index lists it, which is read faster, else with what `headers` says."""
    for index in (folder / "model.safetensors.index.json", folder / "pytorch_model.bin.index.json"):
        if index.is_file() and not (folder / index.name.removesuffix(".index.json")).is_file():
            tensor_files.weight_files(folder)           # raises UserError where this is no index
            return dict.fromkeys(read_object(index)["weight_map"])
    return dict(headers(folder))
