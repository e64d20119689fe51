"""Checkpoint folder (transformers names) -> Decoder. Strict: every tensor must be there, no other, each in the right shape."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import tensor_files
from core.errors import UserError
from core.json_file import read_object
from core.models.config import DecoderConfig
from core.models.decoder import Decoder

IGNORED = ("rotary_emb.inv_freq",)      # buffers that old files carry and that the config determines


def read_config(folder: Path) -> dict[str, Any]:
    """config.json. Raises UserError where there is none, or it is no JSON object."""
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} has no config.json; give the folder of a transformers checkpoint.")
    return read_object(folder / "config.json")


def plan(config: DecoderConfig, head_size: int | None = None) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor the checkpoint must hold."""
    c = config
    q, kv = c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim
    want: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c.vocab_size, c.hidden_size), "model.norm.weight": (c.hidden_size,)}
    if head_size or not c.tied_head:
        want["lm_head.weight"] = (head_size or c.vocab_size, c.hidden_size)
    for i in range(c.num_layers):
        at = f"model.layers.{i}."
        want |= {at + "input_layernorm.weight": (c.hidden_size,), at + "post_attention_layernorm.weight": (c.hidden_size,)}
        for name, out, n_in, bias in (("self_attn.q_proj", q, c.hidden_size, c.qkv_bias), ("self_attn.k_proj", kv, c.hidden_size, c.qkv_bias),
                                      ("self_attn.v_proj", kv, c.hidden_size, c.qkv_bias), ("self_attn.o_proj", c.hidden_size, q, c.o_bias),
                                      ("mlp.gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
                                      ("mlp.up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
                                      ("mlp.down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias)):
            want[f"{at}{name}.weight"] = (out, n_in)
            if bias:
                want[f"{at}{name}.bias"] = (out,)
        if c.qk_norm:
            want |= {at + "self_attn.q_norm.weight": (c.head_dim,), at + "self_attn.k_norm.weight": (c.head_dim,)}
    return want


def compare(tensors: dict[str, Tensor], want: dict[str, tuple[int, ...]], where: str, origin: str = "the config") -> None:
    """Raises UserError naming the first missing, unexpected or misshapen tensor. origin: who wants these (DecoderConfig.origin)."""
    for name, shape in want.items():
        if name not in tensors:
            raise UserError(f"{where}: tensor {name!r} is missing.")
        if tuple(tensors[name].shape) != shape:
            raise UserError(f"{where}: tensor {name!r} has shape {tuple(tensors[name].shape)}, {origin} asks for {shape}.")
    for name in tensors:
        if name not in want and not name.endswith(IGNORED):
            raise UserError(f"{where}: unexpected tensor {name!r}.")


def build(config: DecoderConfig, tensors: dict[str, Tensor], where: str, dtype: torch.dtype, device: torch.device | str,
          head_size: int | None = None) -> Decoder:
    """Checked tensors -> Decoder on `device`. A tied checkpoint may still carry its lm_head, if it equals the embedding."""
    tensors = dict(tensors)
    if config.tied_head and head_size is None and "lm_head.weight" in tensors:
        embed = tensors.get("model.embed_tokens.weight")
        if embed is not None and not torch.equal(tensors.pop("lm_head.weight"), embed):
            raise UserError(f"{where}: the config ties the head to the embedding, but 'lm_head.weight' differs from it.")
    compare(tensors, plan(config, head_size), where, config.origin)
    for name, tensor in tensors.items():
        tensor_files.refuse_quantised(name, tensor, where)
    with torch.device("meta"):
        model = Decoder(config, dtype, "meta", head_size)

    def take(*names: str) -> torch.nn.Parameter:
        parts = [tensors.pop(n).to(device, dtype) for n in names]
        return torch.nn.Parameter(parts[0] if len(parts) == 1 else torch.cat(parts), requires_grad=False)

    model.embed, model.final_norm = take("model.embed_tokens.weight"), take("model.norm.weight")
    model.head.weight = model.embed if config.tied_head and head_size is None else take("lm_head.weight")
    for i, layer in enumerate(model.layers):
        at = f"model.layers.{i}."
        layer.input_norm, layer.post_norm = take(at + "input_layernorm.weight"), take(at + "post_attention_layernorm.weight")
        for linear, names in ((layer.qkv, ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")), (layer.o, ("self_attn.o_proj",)),
                              (layer.gate_up, ("mlp.gate_proj", "mlp.up_proj")), (layer.down, ("mlp.down_proj",))):
            linear.weight = take(*(f"{at}{n}.weight" for n in names))
            if linear.bias is not None:
                linear.bias = take(*(f"{at}{n}.bias" for n in names))
        if config.qk_norm:
            layer.q_norm, layer.k_norm = take(at + "self_attn.q_norm.weight"), take(at + "self_attn.k_norm.weight")
    return model


def load_decoder(folder: Path, dtype: torch.dtype, device: torch.device | str) -> Decoder:
    """Raises UserError for whatever does not fit, Unsupported for a model that transformers alone can run."""
    config = DecoderConfig.from_hf(read_config(folder))
    return build(config, tensor_files.read_folder(folder), str(folder), dtype, device)
