"""Turns --device and --dtype into torch's device and dtype, checked against this machine."""
from __future__ import annotations

import torch

from core.errors import EnvironmentFailure, UserError
from core.models import kernels


def pick_device(name: str) -> torch.device:
    """auto: the GPU if there is one. Raises UserError for another name, EnvironmentFailure for a GPU that this machine lacks."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"--device {name!r} is not a device; take cpu, cuda or cuda:0.") from None
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"--device must be cpu or cuda, not {name!r}.")
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index is not None and device.index >= torch.cuda.device_count())):
        raise EnvironmentFailure(f"This machine has no {name}: take --device cpu.")
    return device


def pick_kernel(name: str, device: torch.device) -> str | None:
    """The CPU kernel that --dtype names, None where it names a dtype. Raises UserError on a GPU, EnvironmentFailure where torch or CPU lack it."""
    if name not in kernels.ROW_EXACT:
        return None
    if device.type != "cpu":
        raise UserError(f"--dtype {name} runs on a CPU only; take bfloat16 here.")
    if not kernels.available(name):
        raise EnvironmentFailure(f"This CPU and torch {torch.__version__} have no kernel for --dtype {name}: take --dtype auto.")
    return name


def pick_dtype(name: str, device: torch.device) -> torch.dtype:
    """auto: bfloat16 where the hardware computes it, else float16 on a GPU and float32 on a CPU; float32 around a CPU kernel of
    `pick_kernel`. Raises UserError for an unknown name."""
    if pick_kernel(name, device):
        return torch.float32
    known = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}
    known |= {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    if name == "auto":
        if device.type == "cuda":
            return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
        return torch.bfloat16 if kernels.onednn_bf16() else torch.float32
    if name not in known:
        raise UserError(f"--dtype {name!r} is not known; take auto, float32, float64, bfloat16, float16, int8, int4, "
                        f"or on a CPU {', '.join(kernels.ROW_EXACT)}.")
    return known[name]
