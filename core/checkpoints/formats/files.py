"""The weight files of a draft head: names and shapes first, without reading the numbers; the numbers only when all is as it should be."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from core.checkpoints import weights
from core.errors import UserError
from core.json_file import read_object

MAPS = ("d2t", "t2d", "token_map")      # ids and masks; all else is numbers
MEDUSA_FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")


def weight_files(folder: Path) -> list[Path]:
    """As core.checkpoints.weights, and Medusa's own file names. Raises UserError."""
    own = [folder / name for name in MEDUSA_FILES if (folder / name).is_file()]
    return own[:1] or weights.weight_files(folder)


def headers(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the folder by name, on the meta device: shapes without storage. Raises UserError."""
    out: dict[str, Tensor] = {}
    for file in weight_files(folder):
        out |= weights.read_file(file, "meta")
    return out


def tensors(folder: Path, want: dict[str, tuple[int, ...]], optional: dict[str, tuple[int, ...]], device: torch.device | str,
            found: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The tensors of `want` and those of `optional` that are there, in the file's dtypes, on `device`.

    Raises UserError naming the first tensor that is missing, unexpected or of another shape, before any of them is read.
    """
    found = headers(folder) if found is None else found
    weights.compare(found, want | {name: shape for name, shape in optional.items() if name in found}, str(folder))
    return numbers(folder, [name for name in found if not name.endswith(weights.IGNORED)], device)


def numbers(folder: Path, wanted: Iterable[str], device: torch.device | str) -> dict[str, Tensor]:
    """The tensors of these names. Raises UserError for one that holds no finite numbers, or is quantised."""
    wanted, out = set(wanted), {}
    for file in weight_files(folder):
        for name, tensor in weights.read_file(file).items():
            if name not in wanted:
                continue
            if name not in MAPS and not tensor.is_floating_point():
                raise UserError(f"{folder}: tensor {name!r} is {str(tensor.dtype).removeprefix('torch.')}; quantised heads cannot be run.")
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise UserError(f"{folder}: tensor {name!r} holds values that are no numbers; download it again.")
            out[name] = tensor.to(device)
    return out


def names(folder: Path) -> dict[str, Tensor | None]:
    """Names alone where an index lists them (None for the tensor), else `headers`."""
    for index in (folder / "model.safetensors.index.json", folder / "pytorch_model.bin.index.json"):
        if index.is_file() and not (folder / index.name.removesuffix(".index.json")).is_file():
            weight_files(folder)            # raises if the index is none
            return dict.fromkeys(read_object(index)["weight_map"])
    return dict(headers(folder))
