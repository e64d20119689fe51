"""Medusa heads (Cai et al. 2024) in their three layouts -> tensors. Heads are counted from the tensors' names: uploaded configs are wrong.

    v0.1   {h}.{l}.linear.weight|bias, {h}.{L}.weight            heads alone; "legacy" ones have no {h}.{L}.weight
    1.0    medusa_head. + the same, beside a whole model         `base` gives that model
    vLLM   blocks.{h}.layers.{l}.weight|bias, lm_heads.{h}.weight, token_map; one lm_heads.0 may serve all heads
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.checkpoints import tensor_files, weights
from core.checkpoints.formats import files
from core.errors import UserError
from core.models.config import DecoderConfig
from core.models.decoder import Decoder

PREFIX = "medusa_head."
BLOCK = re.compile(r"(?:medusa_head\.)?(\d+)\.(\d+)\.linear\.weight$")
VLLM_BLOCK = re.compile(r"blocks\.(\d+)\.layers\.(\d+)\.weight$")


@dataclass
class MedusaTensors:
    """H hidden size, R rows of the output heads."""
    blocks: list[list[tuple[Tensor, Tensor | None]]]    # [head][layer] -> weight [H, H], bias [H] or None
    lm_heads: list[Tensor]                              # [R, H] each; one for all heads; none: the target's own
    token_map: Tensor | None = None                     # [R] int64, target id of each row; None: the same ids
    accuracy: list[list[float]] | None = None           # [head][rank], how often that guess is right; ours, from config.json


def read(folder: Path, kind: str, target: DecoderConfig, device: torch.device | str = "cpu") -> MedusaTensors:
    """kind: what `sniff` said; target: the config of the model it shall draft for. Raises UserError naming what does not fit."""
    config = weights.read_config(folder) if (folder / "config.json").is_file() else {}
    found = files.headers(folder)
    out = _read_vllm(folder, config, found, target, device) if kind == "medusa-vllm" else _read_plain(folder, kind, found, target, device)
    out.accuracy = config.get("head_accuracy")
    if out.accuracy is not None and not _is_table(out.accuracy, len(out.blocks)):
        raise UserError(f"{folder}: head_accuracy in config.json must be one list of shares (0 to 1) for each of {len(out.blocks)} heads.")
    return out


def base(folder: Path, dtype: torch.dtype, device: torch.device | str) -> Decoder:
    """The model that a Medusa 1.0 folder holds beside its heads."""
    config = DecoderConfig.from_hf(weights.read_config(folder))
    found = tensor_files.headers(tensor_files.weight_files(folder))
    tensors = tensor_files.read_folder(folder, {name for name in found if not name.startswith(PREFIX)})
    return weights.build(config, tensors, str(folder), dtype, device)


def _grid(found: dict[str, Tensor], pattern: re.Pattern[str], folder: Path) -> tuple[int, int]:
    """(heads, layers), both from the tensors' names. Raises UserError where there are none."""
    numbers = {(int(m[1]), int(m[2])) for m in map(pattern.search, found) if m}
    if not numbers:
        raise UserError(f"{folder} holds no Medusa head.")
    return max(h for h, _ in numbers) + 1, max(l for _, l in numbers) + 1


def _fits(folder: Path, weight: Tensor | None, target: DecoderConfig) -> int:
    """The target's hidden size. Raises UserError where this weight [., H] of a head has another."""
    H = target.hidden_size
    if weight is not None and weight.shape[-1] != H:
        raise UserError(f"{folder} was made for a target of hidden size {weight.shape[-1]}; this target's is {H}.")
    return H


def _read_plain(folder: Path, kind: str, found: dict[str, Tensor], target: DecoderConfig, device: torch.device | str) -> MedusaTensors:
    at = PREFIX if kind == "medusa-1.0" else ""
    found = {name: t for name, t in found.items() if name.startswith(at)}
    heads, layers = _grid(found, BLOCK, folder)
    H, V = _fits(folder, found.get(f"{at}0.0.linear.weight"), target), target.vocab_size
    want: dict[str, tuple[int, ...]] = {}
    for h in range(heads):
        for l in range(layers):
            want |= {f"{at}{h}.{l}.linear.weight": (H, H), f"{at}{h}.{l}.linear.bias": (H,)}
    outputs = [f"{at}{h}.{layers}.weight" for h in range(heads)]
    legacy = not any(name in found for name in outputs)         # such heads end in the target's own output matrix
    if not legacy:
        rows = next(found[name].shape[0] for name in outputs if name in found)
        if rows != V:
            raise UserError(f"{folder} was made for a target with {rows} token ids; this target has {V}.")
        want |= dict.fromkeys(outputs, (V, H))
    weights.compare(found, want, str(folder))
    tensors = files.numbers(folder, want, device)
    blocks = [[(tensors[f"{at}{h}.{l}.linear.weight"], tensors[f"{at}{h}.{l}.linear.bias"]) for l in range(layers)] for h in range(heads)]
    return MedusaTensors(blocks, [] if legacy else [tensors[name] for name in outputs])


def _read_vllm(folder: Path, config: dict, found: dict[str, Tensor], target: DecoderConfig, device: torch.device | str) -> MedusaTensors:
    heads, layers = _grid(found, VLLM_BLOCK, folder)
    H, V = _fits(folder, found.get("blocks.0.layers.0.weight"), target), target.vocab_size
    if (config.get("vocab_size") or V) != V:
        raise UserError(f"{folder} was made for a target with {config['vocab_size']} token ids; this target has {V}.")
    rows = config.get("truncated_vocab_size") or V
    bias = any(name.startswith("blocks.") and name.endswith(".bias") for name in found)
    scale = config.get("logit_scale", 1.0)      # not used: above 0 it moves no token's rank, and ranks are all that Medusa drafts by
    if type(scale) not in (int, float) or not 0 < scale < float("inf"):
        raise UserError(f"{folder}: logit_scale must be a number above 0, not {scale!r}.")
    want: dict[str, tuple[int, ...]] = {}
    for h in range(heads):
        for l in range(layers):
            want[f"blocks.{h}.layers.{l}.weight"] = (H, H)
            if bias:
                want[f"blocks.{h}.layers.{l}.bias"] = (H,)
    shared = heads > 1 and "lm_heads.1.weight" not in found and bool(config.get("original_lm_head"))
    outputs = [f"lm_heads.{h}.weight" for h in range(1 if shared else heads)]
    want |= dict.fromkeys(outputs, (rows, H))
    if rows != V:
        want["token_map"] = (rows,)
    tensors = files.tensors(folder, want, {"token_map": (rows,)}, device, found)
    token_map = tensors.get("token_map")
    if token_map is not None:
        if token_map.is_floating_point() or int(token_map.min()) < 0 or int(token_map.max()) >= V or token_map.unique().shape[0] != rows:
            raise UserError(f"{folder}: 'token_map' must hold {rows} different ids of the target (0 to {V - 1}).")
        token_map = token_map.long()
    blocks = [[(tensors[f"blocks.{h}.layers.{l}.weight"], tensors.get(f"blocks.{h}.layers.{l}.bias")) for l in range(layers)] for h in range(heads)]
    return MedusaTensors(blocks, [tensors[name] for name in outputs], token_map)


def _is_table(table: object, heads: int) -> bool:
    """Whether these are shares [head][rank], each from 0 to 1."""
    return (isinstance(table, list) and len(table) == heads
            and all(isinstance(row, list) and row and all(type(x) in (int, float) and 0 <= x <= 1 for x in row) for row in table))
