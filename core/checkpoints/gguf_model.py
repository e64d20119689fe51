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

from core.checkpoints import gguf_config
from core.checkpoints.gguf_config import ARCHITECTURES, CONTROL, USER_DEFINED, Meta
from core.errors import UserError

TOP_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
BLOCK_TENSORS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
# of Llama 3 and Qwen 2: contractions, letters, digits (the gap), other signs, line ends, spaces
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# tokenizer.ggml.pre -> the regex that cuts text before byte-level BPE; None: one digit at a time, then GPT-2's own regex.
PRE_TOKENIZERS = {"smollm": None, "llama-bpe": _WORDS % r"\p{N}{1,3}", "qwen2": _WORDS % r"\p{N}"}
FORMAT = 2  # raise it when what is written changes: files converted before are then converted anew


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
        meta = Meta(reader)
        config = gguf_config.read(meta, reader, dtype)
        tokenizer, tokenizer_config = _tokenizer(meta)
        tensors = _tensors(meta, reader, dtype, progress)
    except UserError as error:
        raise UserError(f"{path}: {str(error).removesuffix('.')}.") from error
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if key in config}
    return GgufModel(config, generation, tensors, tokenizer, tokenizer_config)


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


def _hf_name(name: str) -> str:
    """GGUF's name of a tensor -> transformers'. Raises UserError."""
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


def _tensors(meta: Meta, reader: Any, dtype: torch.dtype, progress: Callable[[float], None]) -> dict[str, torch.Tensor]:
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


def _tokenizer(meta: Meta) -> tuple[Any, dict[str, Any]]:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    kind, pre = meta.get("tokenizer.ggml.model"), meta.get("tokenizer.ggml.pre", "none")
    if kind != "gpt2":
        raise UserError(f"the GGUF tokenizer {kind!r} is not supported (only byte-level BPE, 'gpt2')")
    if pre not in PRE_TOKENIZERS:
        raise UserError(f"the GGUF pre-tokenizer {pre!r} is not supported (only {', '.join(PRE_TOKENIZERS)})")
    if not meta.tokens:
        raise UserError("the GGUF file lists no tokens")
    tokens, types = meta.tokens, meta.types
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
        index = meta.token_id(name)
        if index is not None:
            config[key] = tokens[index]
    if meta.get("tokenizer.chat_template"):
        config["chat_template"] = meta.get("tokenizer.chat_template")
    bos = config.get("bos_token") if meta.get("tokenizer.ggml.add_bos_token", pre == "llama-bpe") else None
    eos = config.get("eos_token") if meta.get("tokenizer.ggml.add_eos_token", False) else None
    marks = [token for token in (bos, eos) if token is not None]
    if marks:
        one, two = ([*([bos] if bos else []), *parts, *([eos] if eos else [])] for parts in (["$A"], ["$A", "$B:1"]))
        tokenizer.post_processor = processors.TemplateProcessing(one, two, [(token, vocab[token]) for token in marks])
    return tokenizer, config
