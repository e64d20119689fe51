"""A Llama-family GGUF file read into what the rest of Specscope knows: an HF config, HF-named tensors and a tokenizer.

GGUF keeps its own tensor names, may keep weights quantised, and for architecture `llama` keeps the rows of the q and k projections in
the order that llama.cpp's rotary embedding wants (pairs side by side). All three are undone here; nothing is run. `gguf`, `tokenizers` and
`safetensors` are imported only when a file is read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.errors import UserError

# GGUF architecture -> (HF model_type, HF class, q/k rows permuted). Mistral's files call themselves `llama`.
ARCHITECTURES = {
    "llama": ("llama", "LlamaForCausalLM", True),
    "qwen2": ("qwen2", "Qwen2ForCausalLM", False),
    "qwen3": ("qwen3", "Qwen3ForCausalLM", False),
}
TOP_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
BLOCK_TENSORS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# tokenizer.ggml.pre -> the regex that cuts text before byte-level BPE; None: one digit at a time, then GPT-2's own regex.
PRE_TOKENIZERS = {"smollm": None, "llama-bpe": _WORDS % r"\p{N}{1,3}", "qwen2": _WORDS % r"\p{N}"}
CONTROL, USER_DEFINED = 3, 4  # token types


@dataclass
class GgufModel:
    """One file, in memory. `tensors`: HF name -> tensor, matrices as (out, in). `tokenizer`: a `tokenizers.Tokenizer`."""

    config: dict[str, Any]
    generation_config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    tokenizer: Any
    tokenizer_config: dict[str, Any]

    def save(self, folder: Path) -> None:
        """Writes the folder that `from_pretrained` reads. Raises OSError when the disk is full or read-only."""
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        for name in ("config", "generation_config", "tokenizer_config"):
            (folder / f"{name}.json").write_text(json.dumps(getattr(self, name), indent=2) + "\n", encoding="utf-8")
        (folder / "tokenizer.json").write_text(self.tokenizer.to_str(), encoding="utf-8")
        try:
            save_file(self.tensors, folder / "model.safetensors", metadata={"format": "pt"})
        except SafetensorError as error:  # it hides the system's error in its text
            number = re.search(r"os error (\d+)", str(error))
            if number is None:
                raise
            raise OSError(int(number[1]), os.strerror(int(number[1])), str(folder)) from error
        shutil.copymode(folder / "config.json", folder / "model.safetensors")  # safetensors makes it readable by the owner only


def read(path: Path, dtype: torch.dtype = torch.bfloat16, progress: Callable[[float], None] | None = None) -> GgufModel:
    """Reads and dequantises a whole file; `progress` gets the share of tensors done, 0 to 1. Raises UserError, naming the file,
    for anything that is not a complete, single-file GGUF of a known architecture and pre-tokenizer."""
    progress = progress or (lambda share: None)
    progress(0.0)
    reader = _open(Path(path))
    try:
        meta = _Meta(reader)
        config = _config(meta, reader, dtype)
        tokenizer, tokenizer_config = _tokenizer(meta)
        tensors = _tensors(meta, reader, dtype, progress)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if key in config}
    return GgufModel(config, generation, tensors, tokenizer, tokenizer_config)


class _Meta:
    """The file's key-value part. `meta("block_count")` looks under the architecture's own prefix."""

    def __init__(self, reader: Any) -> None:
        self.fields = reader.fields
        self.architecture = self.get("general.architecture")
        if self.architecture not in ARCHITECTURES:
            raise UserError(f"the GGUF architecture {self.architecture!r} is not supported (only {', '.join(ARCHITECTURES)})")
        if (self.get("split.count") or 1) > 1:
            raise UserError("the model is split over several GGUF files; merge them into one first (llama-gguf-split --merge)")

    def get(self, key: str, default: Any = None) -> Any:
        return self.fields[key].contents() if key in self.fields else default

    def __call__(self, key: str, default: Any = ...) -> Any:
        value = self.get(f"{self.architecture}.{key}", default)
        if value is ...:
            raise UserError(f"the GGUF file lacks {self.architecture}.{key}")
        if isinstance(value, list):
            raise UserError(f"{self.architecture}.{key} differs from layer to layer, which is not supported")
        # GGUF stores float32: 9.99999974e-06 was written as 1e-5, and is given back as 1e-5
        return float(str(np.float32(value))) if isinstance(value, float) else value


def _open(path: Path) -> Any:
    import gguf

    class Reader(gguf.GGUFReader):
        """Reads through a plain array: slicing a memmap object 250,000 times costs seconds."""

        @property
        def data(self) -> np.ndarray:
            return self._plain

        @data.setter
        def data(self, mapped: np.ndarray) -> None:
            self._plain = mapped.view(np.ndarray)

    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    try:
        return Reader(path)
    except OSError:
        raise
    except Exception as error:  # a cut file shows up as ValueError, IndexError or UnicodeError, by where it was cut
        raise UserError(f"{path}: not a complete GGUF file") from error


def _config(meta: _Meta, reader: Any, dtype: torch.dtype) -> dict[str, Any]:
    shapes = {tensor.name: tuple(int(n) for n in reversed(tensor.shape)) for tensor in reader.tensors}
    if "token_embd.weight" not in shapes:
        raise UserError("the GGUF file holds no token embedding, so it is no language model")
    model_type, cls, _ = ARCHITECTURES[meta.architecture]
    heads, hidden = meta("attention.head_count"), meta("embedding_length")
    config = {
        "architectures": [cls],
        "model_type": model_type,
        "vocab_size": shapes["token_embd.weight"][0],
        "hidden_size": hidden,
        "intermediate_size": meta("feed_forward_length"),
        "num_hidden_layers": meta("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": meta("attention.head_count_kv", heads),
        "head_dim": meta("attention.key_length", hidden // heads),
        "hidden_act": "silu",
        "rms_norm_eps": meta("attention.layer_norm_rms_epsilon"),
        "rope_theta": meta("rope.freq_base", 10000.0),
        "max_position_embeddings": meta("context_length"),
        "tie_word_embeddings": "output.weight" not in shapes,
        "attention_bias": "blk.0.attn_output.bias" in shapes,
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    rope = _rope_scaling(meta, reader, config)
    if rope:
        config["rope_scaling"] = rope
    names = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    ids = {key: meta.get(f"tokenizer.ggml.{name}_token_id") for key, name in names.items()}
    return config | {key: value for key, value in ids.items() if value is not None}


def _rope_scaling(meta: _Meta, reader: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    kind = meta("rope.scaling.type", "none")
    if kind == "linear":
        return {"rope_type": "linear", "factor": meta("rope.scaling.factor")}
    if kind != "none":
        raise UserError(f"rope scaling {kind!r} is not supported")
    table = next((tensor.data for tensor in reader.tensors if tensor.name == "rope_freqs.weight"), None)
    if table is None:
        return None
    # Llama 3 ships only the divisors of its frequencies: rebuild the four numbers behind them, and trust them only if they fit
    factor, low, high, original = float(table.max()), 1.0, 4.0, 8192
    inverse = config["rope_theta"] ** -(np.arange(0, config["head_dim"], 2) / config["head_dim"])
    smooth = np.clip((original * inverse / (2 * np.pi) - low) / (high - low), 0, 1)
    if table.shape != inverse.shape or not np.allclose(1 / ((1 - smooth) / factor + smooth), table, rtol=1e-3):
        raise UserError("its rope frequency table is not Llama 3's, and no other is supported")
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }


def _hf_name(name: str) -> str:
    block = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name)
    if block and block[2] in BLOCK_TENSORS:
        return f"model.layers.{block[1]}.{BLOCK_TENSORS[block[2]]}.{block[3]}"
    stem, _, kind = name.rpartition(".")
    if stem in TOP_TENSORS and kind == "weight":
        return f"{TOP_TENSORS[stem]}.weight"
    raise UserError(f"the tensor {name} belongs to no supported architecture")


def unpermute(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """(heads * d, ...) with rotary pairs side by side -> the same rows with each head's first halves before its second halves."""
    pairs = rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:])
    return pairs.transpose(1, 2).reshape(rows.shape).contiguous()


def _tensors(meta: _Meta, reader: Any, dtype: torch.dtype, progress: Callable[[float], None]) -> dict[str, torch.Tensor]:
    from gguf.quants import dequantize

    permuted = ARCHITECTURES[meta.architecture][2]
    heads = {"attn_q": meta("attention.head_count"), "attn_k": meta("attention.head_count_kv", meta("attention.head_count"))}
    tensors = {}
    wanted = [tensor for tensor in reader.tensors if tensor.name != "rope_freqs.weight"]
    for done, tensor in enumerate(wanted, start=1):
        name = _hf_name(tensor.name)
        try:
            values = dequantize(tensor.data, tensor.tensor_type)
        except NotImplementedError as error:
            raise UserError(f"the tensor {tensor.name} is stored as {tensor.tensor_type.name}, which is not supported") from error
        value = torch.from_numpy(np.array(values, dtype=np.float32)).to(dtype)  # np.array: a copy, for the file is mapped read-only
        part = tensor.name.split(".")[-2]
        tensors[name] = unpermute(value, heads[part]) if permuted and part in heads else value
        progress(done / len(wanted))
    return tensors


def _tokenizer(meta: _Meta) -> tuple[Any, dict[str, Any]]:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    kind, pre = meta.get("tokenizer.ggml.model"), meta.get("tokenizer.ggml.pre", "none")
    if kind != "gpt2":
        raise UserError(f"the GGUF tokenizer {kind!r} is not supported (only byte-level BPE, 'gpt2')")
    if pre not in PRE_TOKENIZERS:
        raise UserError(f"the GGUF pre-tokenizer {pre!r} is not supported (only {', '.join(PRE_TOKENIZERS)})")
    if not meta.get("tokenizer.ggml.tokens"):
        raise UserError("the GGUF file lists no tokens")
    tokens, types = meta.get("tokenizer.ggml.tokens"), meta.get("tokenizer.ggml.token_type", [])
    if types and len(types) != len(tokens):
        raise UserError(f"the GGUF file gives {len(types)} token types for {len(tokens)} tokens")
    merges = [tuple(merge.split(" ")) for merge in meta.get("tokenizer.ggml.merges", [])]
    vocab = {token: index for index, token in enumerate(tokens)}
    try:
        tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=pre == "llama-bpe"))
    except Exception as error:  # the library raises nothing narrower, for a merge of unknown tokens for instance
        raise UserError("the GGUF tokenizer's merges do not fit its tokens") from error
    if pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    pattern = PRE_TOKENIZERS[pre]
    cut = pre_tokenizers.Digits(individual_digits=True) if pattern is None else pre_tokenizers.Split(Regex(pattern), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    whole = [(token, kind) for token, kind in zip(tokens, types) if kind in (CONTROL, USER_DEFINED)]
    tokenizer.add_tokens([AddedToken(token, special=kind == CONTROL, normalized=False) for token, kind in whole])

    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    config["model_max_length"] = meta("context_length")
    for key, name in {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}.items():
        index = meta.get(f"tokenizer.ggml.{name}_token_id")
        if index is not None and index < len(tokens):
            config[key] = tokens[index]
    if meta.get("tokenizer.chat_template"):
        config["chat_template"] = meta.get("tokenizer.chat_template")
    if "bos_token" in config and meta.get("tokenizer.ggml.add_bos_token", pre == "llama-bpe"):
        bos = (config["bos_token"], vocab[config["bos_token"]])
        tokenizer.post_processor = processors.TemplateProcessing(f"{bos[0]} $A", f"{bos[0]} $A $B:1", [bos])
    return tokenizer, config
