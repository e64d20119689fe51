"""Memory of the device: what a model needs, what is free, and one sentence that says what would fit when it does not."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from core.checkpoints import quantize, weights
from core.errors import EnvironmentFailure, UserError
from core.models.config import DecoderConfig

OUT = ("DefaultCPUAllocator", "can't allocate memory", "CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
WHOLE = ("embed", "lm_head", "wte", "wpe")      # in the names of matrices that quantisation leaves alone
SPARE = 1 << 29             # bytes for activations, a cache of a short run and the CUDA context's growth


class TooLarge(EnvironmentFailure):
    """The weights do not fit the device."""


def is_out(error: BaseException) -> bool:
    """Whether memory ran out: in Python, on the GPU, or in torch's CPU allocator, whose error has no class of its own."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in OUT)


def free_bytes(device: torch.device) -> int | None:
    """Bytes that can still be allocated there, blocks that torch holds unused included; None where the system does not say."""
    if device.type == "cuda":
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + held
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def sizes(shapes: Mapping[str, Sequence[int]], dtype: torch.dtype) -> dict[str | None, int]:
    """Tensor name -> shape of a model; returns the bytes of its weights: None -> as they are, int8 and int4 -> so quantised, which matrices
    are, embedding and head left out."""
    numbers = {name: math.prod(shape) for name, shape in shapes.items()}
    small = sum(n for name, n in numbers.items() if len(shapes[name]) == 2 and not any(word in name for word in WHOLE))
    rest = (sum(numbers.values()) - small) * dtype.itemsize
    return {None: rest + small * dtype.itemsize} | {kind: round(rest + small * quantize.BYTES[kind]) for kind in quantize.KINDS}


def cache_bytes(c: DecoderConfig, dtype: torch.dtype) -> int:
    """Bytes of keys and values that one position takes."""
    return 2 * c.num_layers * c.num_kv_heads * c.head_dim * dtype.itemsize


def gb(n: float) -> str:
    return f"{n / 1e9:.1f} GB" if n >= 1e8 else f"{n / 1e6:.0f} MB"


def need(name: str, of: dict[str | None, int], dtype: torch.dtype, device: torch.device, kind: str | None = None) -> None:
    """Raises TooLarge, before any weight is read, where a GPU has no room for them. Main memory can swap, so nothing is refused there.

    of: what `sizes` says; kind: how they will be quantised, None: not at all.
    """
    if device.type != "cuda":
        return
    free = free_bytes(device)
    if of[kind] + SPARE > free:
        raise TooLarge(sentence(name, of, dtype, device, free, kind))


def sentence(name: str, of: dict[str | None, int], dtype: torch.dtype, device: torch.device, free: int | None, kind: str | None = None) -> str:
    """What does not fit, by how much, and what would. of: what `sizes` says."""
    words = f"{name} needs {gb(of[kind])} for its weights in {kind or str(dtype).removeprefix('torch.')}"
    if free is None:
        return f"{words}, and {device} has not enough memory: take a smaller model."
    room = max(0, free - SPARE)
    fits = [k for k in quantize.KINDS if k != kind and of[k] <= room] if dtype.itemsize == 2 and device.type == "cuda" else []
    would = [f"--dtype {fits[0]} ({gb(of[fits[0]])})"] if fits else []
    would.append(f"a model of up to {room / dtype.itemsize / 1e9:.1f} billion numbers in {dtype.itemsize * 8} bits")
    return f"{words}, and {device} has {gb(free)} free: what fits is {' or '.join(would)}{_pairs(free)}."


def no_room(name: str, folder: Path, dtype: torch.dtype, device: torch.device, kind: str | None) -> str:
    """The sentence for a load that ran out of memory."""
    try:
        of = sizes(weights.plan(DecoderConfig.from_hf(weights.read_config(folder))), dtype)
    except UserError:
        return f"Not enough memory for {name} on {device}: take a smaller target or another --device."
    return sentence(name, of, dtype, device, free_bytes(device), kind)


def _pairs(free: int) -> str:
    from core.checkpoints import presets
    names = [p.name for p in presets.fitting(free)][-2:]
    return f", such as --pair {' or --pair '.join(names)}" if names else ""


@contextmanager
def guarded(target: Any, name: str) -> Iterator[None]:
    """Around a run: a lack of memory becomes EnvironmentFailure, which says how long a context would fit where that can be told."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out(error):
            raise
        raise EnvironmentFailure(_run_sentence(target.model, name, target.device), "memory") from None


def _run_sentence(model: Any, name: str, device: torch.device) -> str:
    c, free = getattr(model, "config", None), None
    if device.type == "cuda":
        torch.cuda.empty_cache()
    if isinstance(c, DecoderConfig):
        free = free_bytes(device)
    if free is None:
        return f"Not enough memory on {device} to run {name}: take a shorter prompt, fewer --max-new-tokens or a smaller model."
    each = cache_bytes(c, model.dtype)
    return (f"Not enough memory on {device} to run {name}: each token of context takes {max(1, each // 1000)} kB of cache, {gb(free)} are free, "
            f"enough for about {max(0, free - SPARE // 2) // each} tokens in all; take a shorter prompt, fewer --max-new-tokens or a smaller model.")
