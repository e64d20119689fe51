"""The weight files of a folder: which they are, what their headers say, and their tensors. No pickle is ever run."""
from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import torch
from torch import Tensor

from core.errors import UserError
from core.json_file import read_object


def weight_files(folder: Path) -> list[Path]:
    """The files that make up the weights, in name order: those of the index, else the one file, else all there are.

    A repository may hold the same weights twice (Mistral's consolidated.safetensors), which the first two rules leave out.
    """
    for one, every in (("model.safetensors", "*.safetensors"), ("pytorch_model.bin", "pytorch_model*.bin")):
        index = folder / f"{one}.index.json"
        if (folder / one).is_file():
            return [folder / one]
        if index.is_file():
            names = read_object(index).get("weight_map")
            if not isinstance(names, dict) or not names or not all(isinstance(n, str) and Path(n).name == n for n in names.values()):
                raise UserError(f"{index} does not say which files hold the weights.")
            return sorted(folder / name for name in set(names.values()))
        if found := sorted(folder.glob(every)):
            return found
    raise UserError(f"{folder} has no weights: neither *.safetensors nor pytorch_model*.bin.")


def read(files: list[Path], only: Collection[str] | None = None) -> dict[str, Tensor]:
    """The tensors of these names (None: all) on the CPU, in the files' dtypes. Raises UserError."""
    tensors: dict[str, Tensor] = {}
    for file in files:
        tensors |= read_file(file, "cpu", only)
    return tensors


def read_folder(folder: Path, only: Collection[str] | None = None) -> dict[str, Tensor]:
    """The same of a whole checkpoint folder."""
    return read(weight_files(folder), only)


def headers(files: list[Path]) -> dict[str, Tensor]:
    """Every tensor by name, on the meta device: its shape without storage. Raises UserError."""
    found: dict[str, Tensor] = {}
    for file in files:
        found |= read_file(file, "meta")
    return found


def read_file(file: Path, device: str = "cpu", only: Collection[str] | None = None) -> dict[str, Tensor]:
    """One file: .safetensors, or one that torch.load reads. device "meta": no more of a .safetensors is read than its header."""
    from safetensors import SafetensorError, safe_open
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as opened:
                names = [name for name in opened.keys() if only is None or name in only]  # noqa: SIM118
                if device == "meta":
                    return {name: torch.empty(opened.get_slice(name).get_shape(), device="meta") for name in names}
                return {name: opened.get_tensor(name) for name in names}
        part = torch.load(file, map_location=device, weights_only=True)
    except (SafetensorError, OSError, RuntimeError, EOFError, ValueError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{file} cannot be read as weights ({reason}); download it again.") from None
    except MemoryError:
        raise
    except Exception as error:      # torch.load raises pickle.UnpicklingError for anything but plain tensors
        raise UserError(f"{file} holds more than plain tensors and is not loaded ({type(error).__name__}).") from None
    if not isinstance(part, dict) or not all(isinstance(n, str) and isinstance(t, Tensor) for n, t in part.items()):
        raise UserError(f"{file} does not hold named tensors and is not loaded.")
    return {name: tensor for name, tensor in part.items() if only is None or name in only}


def refuse_quantised(name: str, tensor: Tensor, where: str) -> None:
    """Raises UserError for whole numbers where weights are wanted: their scales would be missing."""
    if not tensor.is_floating_point():
        raise UserError(f"{where}: tensor {name!r} is {str(tensor.dtype).removeprefix('torch.')}; quantised weights cannot be run.")
