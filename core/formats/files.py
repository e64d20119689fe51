"""The weight files of a draft head: names and shapes first, without reading the numbers; the numbers only when all is as it should be."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from core import weights
from core.errors import UserError
from core.json_file import read_object

MAPS = ("d2t", "t2d", "token_map")      # ids and masks; all else is numbers
MEDUSA_FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")


def weight_files(folder: Path) -> list[Path]:
    """As core.weights, and Medusa's own file names. Raises UserError."""
    own = [folder / name for name in MEDUSA_FILES if (folder / name).is_file()]
    return own[:1] or weights.weight_files(folder)


def headers(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the folder by name, on the meta device: shapes without storage. Raises UserError."""
    out: dict[str, Tensor] = {}
    for file in weight_files(folder):
        out |= read_file(file, "meta")
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
        for name, tensor in read_file(file).items():
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


def read_file(file: Path, device: str = "cpu") -> dict[str, Tensor]:
    """One file without running its pickle; device "meta" reads only what a file says about its tensors."""
    from safetensors import SafetensorError, safe_open
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as opened:
                if device == "meta":
                    return {name: torch.empty(opened.get_slice(name).get_shape(), device="meta") for name in opened.keys()}  # noqa: SIM118
                return {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        part = torch.load(file, map_location=device, weights_only=True)
    except (SafetensorError, OSError, RuntimeError, EOFError, ValueError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{file} cannot be read as weights ({reason}); download it again.") from None
    except MemoryError:
        raise
    except Exception as error:      # torch.load raises pickle.UnpicklingError for anything but plain tensors
        raise UserError(f"{file} holds more than plain tensors and is not loaded ({type(error).__name__}).") from None
    if not isinstance(part, dict) or not all(isinstance(t, Tensor) for t in part.values()):
        raise UserError(f"{file} does not hold named tensors and is not loaded.")
    return part
