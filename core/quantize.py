"""`--quantize int8|int4`: weights of a target's linear layers in fewer bits, by torchao or bitsandbytes where one is installed.

Weights only: activations, embedding, norms and the output head stay in the model's dtype. The target is then another model than the
unquantised one; speculation stays lossless with respect to what runs. The model comes from main memory and each layer goes to the device
when its turn comes, so that the device never has to hold the full weights.
"""
from __future__ import annotations

import importlib
from importlib import metadata, util

import torch
from torch import nn

from core.errors import EnvironmentFailure, UserError
from core.linear import Linear

KINDS = ("int8", "int4")
GROUPS = (128, 64, 32)      # numbers that share a scale in int4; must divide a layer's input
BYTES = {"int8": 1.0, "int4": 0.5625}       # of a number, its share of a bf16 scale and zero per 64 included


def check(kind: str, device: torch.device, dtype: torch.dtype) -> str:
    """The package that will do it, before anything is read. Raises UserError or, naming what to install, EnvironmentFailure."""
    if kind not in KINDS:
        raise UserError(f"--quantize must be one of {', '.join(KINDS)}, not {kind!r}.")
    if dtype not in (torch.bfloat16, torch.float16):
        raise UserError(f"--quantize {kind} keeps the rest of the model in bfloat16 or float16, not {str(dtype).removeprefix('torch.')}: "
                        "leave --dtype out or name one of the two.")
    if device.type != "cuda" and kind == "int4":
        raise UserError("--quantize int4 needs a CUDA GPU: its kernels are not there for the CPU; int8 is.")
    there = {name for name in ("torchao", "bitsandbytes") if util.find_spec(name) is not None}
    # torchao's int4 kernels compute in bf16, which GPUs before Ampere do not have; bitsandbytes' compute in float16 too
    able = {"torchao"} if device.type != "cuda" else {"bitsandbytes"} if kind == "int4" and dtype == torch.float16 else {"torchao", "bitsandbytes"}
    if not able & there:
        names = " or ".join(f"pip install {name}" for name in sorted(able, reverse=True))
        raise EnvironmentFailure(f"--quantize {kind} needs a package that is not installed: {names}.")
    return "torchao" if "torchao" in able & there else "bitsandbytes"


def apply(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, head: nn.Module | None) -> str:
    """Quantise all linear layers but `head` in place; the model ends on `device`. Returns the record's words, e.g. "int8, torchao 0.15.0".

    Raises UserError for a model without such layers or with layers that int4's groups do not divide.
    """
    package = check(kind, device, dtype)
    layers = {name: m for name, m in model.named_modules() if isinstance(m, (Linear, nn.Linear)) and m is not head}
    if not layers:
        raise UserError(f"--quantize {kind} finds no linear layers in this model.")
    (_torchao if package == "torchao" else _bitsandbytes)(model, kind, device, dtype, layers)
    model.to(device)
    return f"{kind}, {package} {metadata.version(package)}"


def _torchao(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, layers: dict[str, nn.Module]) -> None:
    ao = importlib.import_module("torchao.quantization")
    if kind == "int8":
        config = ao.Int8WeightOnlyConfig()
    else:
        inputs = {m.weight.shape[1] for m in layers.values()}
        group = next((g for g in GROUPS if all(n % g == 0 for n in inputs)), None)
        if group is None:
            raise UserError(f"--quantize int4 works on groups of {GROUPS[-1]} numbers or more; this model's layers do not divide so: take int8.")
        # the one packing whose kernel comes with torch itself
        config = ao.Int4WeightOnlyConfig(group_size=group, int4_packing_format="tile_packed_to_4d")
    chosen = set(map(id, layers.values()))
    ao.quantize_(model, config, filter_fn=lambda module, name: id(module) in chosen, device=device)


def _bitsandbytes(model: nn.Module, kind: str, device: torch.device, dtype: torch.dtype, layers: dict[str, nn.Module]) -> None:
    bnb = importlib.import_module("bitsandbytes")
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
        setattr(model.get_submodule(parent), own, new.to(device))       # the move to the device is what quantises
