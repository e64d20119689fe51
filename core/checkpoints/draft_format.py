"""This project's own format: a small draft model that shares its target's embedding.

Two thirds of a full model of this size would be its embedding. Here the embedding is the target's, taken when the draft is loaded, and the
output head has rows only for the ids that the target writes most often:

    config.json         {"model_type": "specscope_draft", "format_version": 1, <Llama fields: hidden_size, intermediate_size, ...>,
                         "vocab_size": the target's, "input_size": width of the target's embedding, "output_size": rows of the head,
                         "target_fingerprint": sha256 over a sample of the target's embedding (`fingerprint`)}
    *.safetensors       model.layers.{i}.*, model.norm.weight   as transformers names them for Llama
                        lm_head.weight     [output_size, hidden_size]
                        token_ids          [output_size] int64, ascending: head row -> the target's token id
                        embed_proj.weight  [hidden_size, input_size]; absent where hidden_size == input_size: the embedding as it is
"""
from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.checkpoints import tensor_files, weights
from core.errors import UserError
from core.models.config import DecoderConfig
from core.models.decoder import Decoder

MODEL_TYPE = "specscope_draft"
FORMAT_VERSION = 1
EMBED, PROJECTION, TOKEN_IDS = "model.embed_tokens.weight", "embed_proj.weight", "token_ids"
SHARD_BYTES = 9_500_000     # no file of the repository is over 10 MB


def fingerprint(embed: Tensor) -> str:
    """sha256 over every 97th row of an embedding [V, H] in bf16: the same for a target in whatever dtype it was loaded."""
    sample = embed.detach()[::97].to("cpu", torch.bfloat16).contiguous()
    return hashlib.sha256(f"{tuple(embed.shape)}".encode() + sample.view(torch.int16).numpy().tobytes()).hexdigest()


def load_draft(folder: Path, target: Decoder, dtype: torch.dtype, device: torch.device | str) -> tuple[Decoder, Tensor]:
    """(decoder with a reduced head, token_ids int64 [output_size]). It reads the target's ids; row r of its logits belongs to token_ids[r].

    Raises UserError naming what does not fit, the target included.
    """
    hf = weights.read_config(folder)
    config = _config(hf, folder)
    inputs, rows = hf["input_size"], hf["output_size"]
    if (config.vocab_size, inputs) != tuple(target.embed.shape):
        raise UserError(f"{folder} was made for a target with an embedding of {config.vocab_size} x {inputs}; "
                        f"this target's is {target.embed.shape[0]} x {target.embed.shape[1]}.")
    if hf["target_fingerprint"] != fingerprint(target.embed):
        raise UserError(f"{folder} was made for another target: the token embedding that it reads differs from this one's.")
    tensors = tensor_files.read_folder(folder)
    weights.compare(tensors, plan(config, inputs, rows), str(folder))
    token_ids = tensors.pop(TOKEN_IDS)
    if token_ids.dtype != torch.int64 or int(token_ids[0]) < 0 or int(token_ids[-1]) >= config.vocab_size or bool((token_ids.diff() <= 0).any()):
        raise UserError(f"{folder}: 'token_ids' must be ascending int64 ids of the target (0 to {config.vocab_size - 1}).")
    embed = target.embed.detach()
    if PROJECTION in tensors:       # once for the whole vocabulary: a step is then a plain decoder step
        embed = torch.nn.functional.linear(embed, tensors.pop(PROJECTION).to(embed.device, embed.dtype))
    decoder = weights.build(config, {**tensors, EMBED: embed}, str(folder), dtype, device, head_size=rows)
    return decoder, token_ids.to(device)


def _config(hf: dict[str, Any], folder: Path) -> DecoderConfig:
    if hf.get("model_type") != MODEL_TYPE:
        raise UserError(f"{folder} is not a Specscope draft model: its config.json says model_type {hf.get('model_type')!r}.")
    if hf.get("format_version") != FORMAT_VERSION:
        raise UserError(f"{folder} has format version {hf.get('format_version')!r}; this Specscope reads {FORMAT_VERSION}.")
    for name, kind in (("input_size", int), ("output_size", int), ("target_fingerprint", str)):
        if type(hf.get(name)) is not kind:
            raise UserError(f"{folder}: config.json needs {name!r} ({kind.__name__}).")
    config = DecoderConfig.from_hf({**hf, "model_type": "llama"})
    if not 0 < hf["output_size"] <= config.vocab_size:
        raise UserError(f"{folder}: 'output_size' must be from 1 to vocab_size ({config.vocab_size}), not {hf['output_size']}.")
    return config


def plan(config: DecoderConfig, input_size: int, output_size: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor in the folder."""
    want = weights.plan(config, output_size)
    del want[EMBED]
    want[TOKEN_IDS] = (output_size,)
    if input_size != config.hidden_size:
        want[PROJECTION] = (config.hidden_size, input_size)
    return want


def save_draft(folder: Path, config: DecoderConfig, tensors: dict[str, Tensor], target_embed: Tensor) -> None:
    """Write the folder; `tensors` as `plan` names them, floats stored as bf16."""
    rows = len(tensors[TOKEN_IDS])
    weights.compare(tensors, plan(config, target_embed.shape[1], rows), str(folder))
    hf = {"model_type": MODEL_TYPE, "format_version": FORMAT_VERSION, **llama_fields(config), "input_size": target_embed.shape[1],
          "output_size": rows, "target_fingerprint": fingerprint(target_embed)}
    save_folder(folder, hf, tensors)


def llama_fields(c: DecoderConfig) -> dict[str, Any]:
    """The config as transformers writes it for a Llama model with its own head."""
    out: dict[str, Any] = {"vocab_size": c.vocab_size, "hidden_size": c.hidden_size, "intermediate_size": c.intermediate_size,
                           "num_hidden_layers": c.num_layers, "num_attention_heads": c.num_heads, "num_key_value_heads": c.num_kv_heads,
                           "head_dim": c.head_dim, "hidden_act": "silu", "rms_norm_eps": c.rms_norm_eps, "rope_theta": c.rope_theta,
                           "max_position_embeddings": c.max_positions, "tie_word_embeddings": False, "attention_bias": False}
    if c.rope_scaling.get("rope_type", "default") != "default":
        out["rope_scaling"] = dict(c.rope_scaling)
    return out


def save_folder(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """config.json and safetensors, floats as bf16, in shards of at most SHARD_BYTES where one tensor allows it."""
    from safetensors.torch import save_file
    folder.mkdir(parents=True, exist_ok=True)
    shards: list[dict[str, Tensor]] = [{}]
    for name, tensor in tensors.items():
        tensor = tensor.detach().to("cpu", torch.bfloat16 if tensor.is_floating_point() else tensor.dtype).contiguous().clone()
        if shards[-1] and sum(t.nbytes for t in shards[-1].values()) + tensor.nbytes > SHARD_BYTES:
            shards.append({})
        shards[-1][name] = tensor
    names = ["model.safetensors"] if len(shards) == 1 else [f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
    for name, shard in zip(names, shards):
        save_file(shard, folder / (name + ".new"), metadata={"format": "pt"})
    for old in folder.glob("*.safetensors*"):       # a shard of an earlier save would be read as part of this one
        if not old.name.endswith(".new"):
            old.unlink()
    for name in names:
        os.chmod(folder / (name + ".new"), 0o644)   # safetensors writes for the owner alone
        os.replace(folder / (name + ".new"), folder / name)
    if len(shards) > 1:
        index = {"metadata": {"total_size": sum(t.nbytes for s in shards for t in s.values())},
                 "weight_map": {key: name for name, shard in zip(names, shards) for key in shard}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
