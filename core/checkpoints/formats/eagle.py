"""Folders of EAGLE-1/2 (Li et al. 2024), EAGLE-3 (Li et al. 2025) and speculators' eagle3 -> tensors and options. Nothing is computed here.

EAGLE-2 has EAGLE-1's weights and another search. Every tensor must be there, no other, each in the right shape for this target.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import weights
from core.checkpoints.formats import files
from core.errors import UserError
from core.models.config import DecoderConfig
from core.models.config_values import ConfigValues

PROJECTIONS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
LEGACY_NORMS = {f"aux_norm_{name}.weight": f"fc_norm.{i}.weight" for i, name in enumerate(("low", "mid", "high"))}      # SGLang's old names
# what a copied config may say of the target's layers and head, and an EAGLE head does not have
TARGETS_OWN = {"tie_word_embeddings": False, "sliding_window": None, "use_sliding_window": False, "layer_types": None}


@dataclass
class EagleTensors:
    """H hidden size of the head, Ht of the target, T hidden states, R rows of the head's output."""
    version: int                    # 1 (also EAGLE-2) or 3
    config: DecoderConfig           # of the head's one layer
    tensors: dict[str, Tensor]      # without the layer's prefix: fc.weight, self_attn.q_proj.weight, ...
    aux_layers: tuple[int, ...]     # target layers whose inputs it reads; the number of layers stands for the output of the last one
    token_map: Tensor | None = None         # [R] int64, target id of each output row; None: the same ids
    norm_before_residual: bool = False
    norm_before_fc: bool = False    # one norm over all hidden states: input_norm
    fc_norm: bool = False           # one norm for each of them: fc_norm.{i}
    norm_output: bool = False       # the normed output is fed back


def read(folder: Path, kind: str, target: DecoderConfig, device: torch.device | str = "cpu") -> EagleTensors:
    """kind: what `sniff` said; target: the config of the model it shall draft for. Raises UserError naming what does not fit."""
    hf = weights.read_config(folder)
    found = files.headers(folder)
    own = hf.get("transformer_layer_config") if kind == "speculators" else hf
    if not isinstance(own, dict):
        raise UserError(f"{folder}: config.json lacks 'transformer_layer_config'.")
    config = _layer_config(own, found, folder)
    if config.vocab_size != target.vocab_size:
        raise UserError(f"{folder} was made for a target with {config.vocab_size} token ids; this target has {target.vocab_size}.")
    return _read1(folder, config, found, target, device) if kind == "eagle" else _read3(folder, hf, kind, config, found, target, device)


def _layer_config(hf: dict[str, Any], found: dict[str, Tensor], folder: Path) -> DecoderConfig:
    """The head's layer; whether it has biases or q/k norms is read off its tensors, since copied configs say what the target has."""
    config = DecoderConfig.from_hf({**hf, "model_type": hf.get("model_type", "llama"), **TARGETS_OWN}, f"{folder}/config.json")
    if config.num_layers != 1:
        raise UserError(f"{folder}: an EAGLE head has one layer, this config says {config.num_layers}.")

    def there(name: str) -> bool:
        return any(n.endswith(name) for n in found)

    return replace(config, qkv_bias=there("self_attn.q_proj.bias"), o_bias=there("self_attn.o_proj.bias"),
                   mlp_bias=there("mlp.gate_proj.bias"), qk_norm=there("self_attn.q_norm.weight"))


def _layer_plan(c: DecoderConfig, at: str, n_in: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape of the layer's tensors, each name behind the prefix `at`. n_in: numbers that q, k and v read."""
    whole = weights.plan(replace(c, num_layers=1))
    plan = {at + name.removeprefix("model.layers.0."): shape for name, shape in whole.items() if name.startswith("model.layers.0.")}
    for name in PROJECTIONS[:3]:
        plan[f"{at}{name}.weight"] = (plan[f"{at}{name}.weight"][0], n_in)
    return plan


def _read1(folder: Path, c: DecoderConfig, found: dict[str, Tensor], target: DecoderConfig, device: torch.device | str) -> EagleTensors:
    H = c.hidden_size
    if target.hidden_size != H:
        raise UserError(f"{folder} was made for a target of hidden size {H}; this target's is {target.hidden_size}.")
    want = {"fc.weight": (H, 2 * H), **_layer_plan(c, "layers.0.", H)}
    del want["layers.0.input_layernorm.weight"]
    tensors = files.tensors(folder, want, {"fc.bias": (H,), "embed_tokens.weight": (c.vocab_size, H)}, device, found, c.origin)
    return EagleTensors(1, c, {n.removeprefix("layers.0."): t for n, t in tensors.items()}, (target.num_layers,))


def _read3(folder: Path, hf: dict[str, Any], kind: str, c: DecoderConfig, found: dict[str, Tensor], target: DecoderConfig,
           device: torch.device | str) -> EagleTensors:
    H, Ht, V = c.hidden_size, target.hidden_size, c.vocab_size
    inner = hf.get("eagle_config") or {}
    if not isinstance(inner, dict):
        raise UserError(f"{folder}: eagle_config in config.json must be an object, not {inner!r}.")
    said = ConfigValues({**inner, **hf}, f"{folder}/config.json")
    if said.get("use_aux_hidden_state") is not None and not said.flag("use_aux_hidden_state"):
        raise UserError(f"{folder}: EAGLE-3 heads that read no hidden states of the target (use_aux_hidden_state false) cannot be run.")
    flags = {name: said.flag(name) for name in ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")}
    if kind == "speculators" and said.get("norm_before_residual") is None:
        warnings.warn(f"{folder}: config.json does not say norm_before_residual; taken as false, as speculators does (vLLM takes true). "
                      "If acceptance is low, set it.", stacklevel=2)
    renamed = {name: new for name, new in LEGACY_NORMS.items() if name in found}
    flags["fc_norm"] |= bool(renamed)
    if flags["norm_before_fc"] and flags["fc_norm"]:
        raise UserError(f"{folder}: norm_before_fc and fc_norm exclude each other.")
    aux_layers = read_aux_layers(said.get("eagle_aux_hidden_state_layer_ids"), target.num_layers, str(folder))
    made_for = said.get("target_hidden_size") or (found["fc.weight"].shape[-1] // len(aux_layers) if "fc.weight" in found else H)
    if made_for != Ht:
        raise UserError(f"{folder} was made for a target of hidden size {made_for}; this target's is {Ht}.")
    rows = said.get("draft_vocab_size") or V
    if type(rows) is not int or not 0 < rows <= V:
        raise UserError(f"{folder}: draft_vocab_size must be from 1 to vocab_size ({V}), not {rows!r}.")

    at = "midlayer." if any(n.startswith("midlayer.") for n in found) else "layers.0."
    want = {"fc.weight": (H, len(aux_layers) * Ht), "norm.weight": (H,), "lm_head.weight": (rows, H), f"{at}hidden_norm.weight": (H,),
            **_layer_plan(c, at, 2 * H)}
    if flags["norm_before_fc"]:
        want["input_norm.weight"] = (len(aux_layers) * Ht,)
    if flags["fc_norm"]:
        back = {new: name for name, new in renamed.items()}
        want |= {back.get(f"fc_norm.{i}.weight", f"fc_norm.{i}.weight"): (Ht,) for i in range(len(aux_layers))}
    optional: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (V, H)}
    maps = {"d2t": (rows,), "t2d": (V,)}
    if rows == V:
        optional |= maps
    else:
        want |= maps
    if Ht != H and "embed_tokens.weight" not in found:
        raise UserError(f"{folder}: tensor 'embed_tokens.weight' is missing; the target's embedding has {Ht} numbers a token, the head wants {H}.")
    tensors = files.tensors(folder, want, optional, device, found, c.origin)
    token_map = _token_map(tensors.pop("d2t", None), tensors.pop("t2d", None), V, str(folder))
    return EagleTensors(3, c, {renamed.get(n, n.removeprefix(at)): t for n, t in tensors.items()}, aux_layers, token_map, **flags)


def read_aux_layers(ids: Any, layers: int, where: str = "the head") -> tuple[int, ...]:
    """The config's layer ids -> target layers whose *inputs* the head reads. Default of L layers: 2, L // 2, L - 3.

    An id i means the input of layer i (as in vLLM and speculators); the default's three ids less one mean the outputs of those layers, which is
    how SGLang names the same hidden states.
    """
    default = (2, layers // 2, layers - 3)
    if ids is None:
        aux_layers = default
    elif not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
        raise UserError(f"{where}: eagle_aux_hidden_state_layer_ids must be a list of layer numbers, not {ids!r}.")
    else:
        by_output = tuple(ids) == tuple(i - 1 for i in default)
        aux_layers = tuple(i + 1 for i in ids) if by_output else tuple(ids)
    if not all(0 <= t <= layers for t in aux_layers):
        raise UserError(f"{where} reads the target's hidden states at layers {', '.join(map(str, aux_layers))}; this target has {layers} layers.")
    return aux_layers


def _token_map(d2t: Tensor | None, t2d: Tensor | None, vocab_size: int, where: str) -> Tensor | None:
    """Offsets d2t [R], mask t2d [V] -> ids [R]: row r of the head belongs to the target's token r + d2t[r]. Raises UserError."""
    if d2t is None:
        return None
    if d2t.is_floating_point() or d2t.dtype == torch.bool:
        raise UserError(f"{where}: 'd2t' must hold whole numbers.")
    ids = d2t.long() + torch.arange(d2t.shape[0], device=d2t.device)
    if int(ids.min()) < 0 or int(ids.max()) >= vocab_size or ids.unique().shape[0] != ids.shape[0]:
        raise UserError(f"{where}: 'd2t' must hold offsets (target id less row); as they are, ids repeat or lie outside 0 to {vocab_size - 1}.")
    if t2d is not None:
        mask = torch.zeros(vocab_size, dtype=torch.bool, device=ids.device).index_fill_(0, ids, True)
        if not torch.equal(mask, t2d.bool()):
            raise UserError(f"{where}: 'd2t' and 't2d' name different token ids.")
    return ids
