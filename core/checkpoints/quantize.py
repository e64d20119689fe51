"""`--dtype int8|int4` (old name: --quantize): weights of a target's linear layers in fewer bits, by torchao or bitsandbytes if installed.

Activations, embedding, norms and the output head stay in the model's dtype; bitsandbytes' int8 alone also rounds what enters a layer, each
token by itself, so that a pass over several gives what passes over one do. The target is then another model than the unquantised one;
speculation stays lossless with respect to what runs. The model comes from main memory and each layer goes to the device when its turn comes,
so that the device never has to hold the full weights.
"""
from __future__ import annotations

import importlib
import logging
import re
from importlib import metadata, util
from types import ModuleType

import torch
from torch import nn

from core.errors import EnvironmentFailure, UserError
from core.models.linear import Linear

KINDS = ("int8", "int4")
GROUPS = (128, 64, 32)      # numbers that share a scale in int4; must divide a layer's input
CPU_SIDES = (64, 32)        # of bitsandbytes' 4-bit kernels for the CPU: what must divide a layer's inputs and outputs
BYTES = {"int8": 1.0, "int4": 0.5625}       # of a number, its share of a bf16 scale and zero per 64 included


def check(kind: str, device: torch.device, dtype: torch.dtype) -> str:
    """The package that will do it, before anything is read. Raises UserError or, naming what to install, EnvironmentFailure."""
    if kind not in KINDS:
        raise UserError(f"--quantize must be one of {', '.join(KINDS)}, not {kind!r}.")
    if dtype not in (torch.bfloat16, torch.float16):
        raise UserError(f"--quantize {kind} keeps the rest of the model in bfloat16 or float16, not {str(dtype).removeprefix('torch.')}: "
                        "leave --dtype out or name one of the two.")
    there = {name for name in ("torchao", "bitsandbytes") if util.find_spec(name) is not None}
    # torchao's int4 kernels are for CUDA and bf16, which GPUs before Ampere do not have; bitsandbytes' run everywhere and in float16 too
    able = {"bitsandbytes"} if kind == "int4" and (device.type != "cuda" or dtype == torch.float16) else {"torchao", "bitsandbytes"}
    if not able & there:
        names = " or ".join(f"pip install {name}" for name in sorted(able, reverse=True))
        raise EnvironmentFailure(f"--dtype {kind} needs a package that is not installed: {names}.")
    return "torchao" if "torchao" in able & there else "bitsandbytes"


def apply(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, head: nn.Module | None) -> str:
    """Quantise all linear layers but `head` in place; the model ends on `device`. Returns the record's words, e.g. "int8, torchao 0.15.0".

    Raises UserError for a model without such layers or with layers that int4's groups do not divide.
    """
    package = check(kind, device, dtype)
    layers = {name: m for name, m in model.named_modules() if isinstance(m, (Linear, nn.Linear)) and m is not head}
    if not layers:
        raise UserError(f"--dtype {kind} finds no linear layers in this model.")
    (_torchao if package == "torchao" else _bitsandbytes)(model, kind, device, dtype, layers)
    model.to(device)
    return f"{kind}, {package} {metadata.version(package)}"


def _torchao(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, layers: dict[str, nn.Module]) -> None:
    ao = _import("torchao.quantization")
    inputs = {m.weight.shape[1] for m in layers.values()}
    group = next((g for g in GROUPS if all(n % g == 0 for n in inputs)), None)
    if kind == "int4" and group is None:
        raise UserError(f"--dtype int4 works on groups of {GROUPS[-1]} numbers or more; this model's layers do not divide so: take int8.")
    try:
        if kind == "int8":
            config = ao.Int8WeightOnlyConfig()
        else:       # the one packing whose kernel comes with torch itself
            config = ao.Int4WeightOnlyConfig(group_size=group, int4_packing_format="tile_packed_to_4d")
    except (AttributeError, TypeError):
        raise EnvironmentFailure(f"The torchao that is installed is too old for --dtype {kind}: pip install -U torchao.") from None
    chosen = set(map(id, layers.values()))
    ao.quantize_(model, config, filter_fn=lambda module, name: id(module) in chosen, device=device)


def _bitsandbytes(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, layers: dict[str, nn.Module]) -> None:
    bnb = _import("bitsandbytes")
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)       # its int8 layers warn at every pass that they compute in float16
    if device.type != "cuda":
        if tuple(map(int, re.findall(r"\d+", metadata.version("bitsandbytes"))[:2])) < (0, 46):
            raise EnvironmentFailure("This bitsandbytes has no kernels for the CPU: pip install -U bitsandbytes (0.46 or newer).")
        if kind == "int4" and any(n % side for m in layers.values() for n, side in zip(reversed(m.weight.shape), CPU_SIDES)):
            raise UserError(f"--dtype int4 on a CPU takes layers whose inputs {CPU_SIDES[0]} and whose outputs {CPU_SIDES[1]} divide; this model "
                            "has others: take int8.")
    for name, old in layers.items():
        out, n_in = old.weight.shape
        if kind == "int8":
            new = bnb.nn.Linear8bitLt(n_in, out, bias=old.bias is not None, has_fp16_weights=False)
            new.weight = bnb.nn.Int8Params(old.weight.data.to(torch.float16), requires_grad=False, has_fp16_weights=False)
        else:
            new = bnb.nn.Linear4bit(n_in, out, bias=old.bias is not None, compute_dtype=dtype, quant_type="nf4")
            new.weight = bnb.nn.Params4bit(old.weight.data, requires_grad=False, quant_type="nf4")
        if old.bias is not None:
            new.bias = nn.Parameter(old.bias.data, requires_grad=False)
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, new.to(device).eval())       # the move to the device is what quantises


def _import(name: str) -> ModuleType:
    """Silences what they warn of at import: kernels for other hardware than this, and each other's deprecations."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, RuntimeError, AttributeError) as error:       # made for another torch, or half installed
        package = name.partition(".")[0]
        raise EnvironmentFailure(f"{package} is installed but cannot be imported ({' '.join(str(error).split())[:160]}): "
                                 f"pip install -U {package}.") from None
    finally:
        logging.disable(before)
