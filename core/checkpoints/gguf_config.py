"""GGUF metadata -> the config.json that it stands for. Strict: a key that may change what the model computes is used, or the file is refused.

What a key means, and what stands for one that is missing, is llama.cpp's: linear rope scaling where a factor comes without a type, ends of
generation that are called end of turn or end of message.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.errors import UserError
from core.models.config import DecoderConfig

# GGUF architecture -> (HF model_type, HF class, q/k rows permuted). Mistral's files call themselves `llama`.
ARCHITECTURES = {
    "llama": ("llama", "LlamaForCausalLM", True),
    "qwen2": ("qwen2", "Qwen2ForCausalLM", False),
    "qwen3": ("qwen3", "Qwen3ForCausalLM", False),
}
USED = {"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "attention.key_length", "attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor", "rope.scale_linear"}
# notes of the converter, the epsilon of another norm, and YaRN's numbers, which count under that scaling type alone
UNUSED = {"tensor_data_layout", "attention.layer_norm_epsilon", "rope.scaling.finetuned", "rope.scaling.original_context_length",
          "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow",
          "rope.scaling.yarn_log_multiplier"}
TURN_ENDS = ("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<EOT>", "_<EOT>", "[EOT]", "<end_of_utterance>")
MESSAGE_ENDS = ("<|eom_id|>",)
CONTROL, USER_DEFINED = 3, 4  # token types


class Meta:
    """The file's key-value part. `meta("block_count")` looks under the architecture's own prefix."""

    def __init__(self, reader: Any) -> None:
        self.fields = reader.fields
        self.architecture = self.get("general.architecture")
        if self.architecture not in tuple(ARCHITECTURES):
            raise UserError(f"the GGUF architecture {self.architecture!r} is not supported (only {', '.join(ARCHITECTURES)})")
        if (self.get("split.count") or 1) > 1:
            raise UserError("the model is split over several GGUF files; merge them into one first (llama-gguf-split --merge)")
        self.tokens, self.types = self.get("tokenizer.ggml.tokens") or [], self.get("tokenizer.ggml.token_type") or []

    def get(self, key: str, default: Any = None) -> Any:
        return self.fields[key].contents() if key in self.fields else default

    def __call__(self, key: str, default: Any = ...) -> Any:
        value = self.get(f"{self.architecture}.{key}", default)
        if value is ...:
            raise UserError(f"the GGUF file lacks {self.architecture}.{key}")
        if isinstance(value, list):
            if len(set(value)) != 1:
                raise UserError(f"{self.architecture}.{key} differs from layer to layer, which is not supported")
            value = value[0]
        # GGUF stores float32: 9.99999974e-06 was written as 1e-5, and is given back as 1e-5
        return float(str(np.float32(value))) if isinstance(value, float) else value

    def whole(self, key: str, default: int | None = None) -> int:
        """A size. Raises UserError."""
        value = self(key) if default is None else self(key, default)
        if type(value) is not int or value < 1:
            raise UserError(f"{self.architecture}.{key} is {value!r}, not a whole number from 1 up")
        return value

    def token_id(self, name: str) -> int | None:
        """tokenizer.ggml.NAME_token_id; None without one, or where it is no id of the file's tokens."""
        value = self.get(f"tokenizer.ggml.{name}_token_id")
        return value if type(value) is int and 0 <= value < len(self.tokens) else None

    def end_ids(self) -> list[int]:
        """What ends a generation: EOS, end of turn, end of message. Where the file does not name the last two, control tokens are taken
        that are known by their texts; no other end of turn where EOS is one itself."""
        def by_text(texts: tuple[str, ...]) -> int | None:
            control = (i for i, (token, kind) in enumerate(zip(self.tokens, self.types)) if kind == CONTROL and token in texts)
            return next(control, None)

        eos, turn, message = (self.token_id(name) for name in ("eos", "eot", "eom"))
        if turn is None and (eos is None or self.tokens[eos] not in TURN_ENDS):
            turn = by_text(TURN_ENDS)
        if message is None:
            message = by_text(MESSAGE_ENDS)
        return list(dict.fromkeys(i for i in (eos, turn, message) if i is not None))


def read(meta: Meta, reader: Any, dtype: torch.dtype) -> dict[str, Any]:
    """The config, complete and checked. Raises UserError for a key that is missing, strange, or not supported."""
    shapes = {tensor.name: tuple(int(n) for n in reversed(tensor.shape)) for tensor in reader.tensors}
    if "token_embd.weight" not in shapes:
        raise UserError("the GGUF file holds no token embedding, so it is no language model")
    model_type, cls, _ = ARCHITECTURES[meta.architecture]
    heads, hidden = meta.whole("attention.head_count"), meta.whole("embedding_length")
    config = {
        "architectures": [cls],
        "model_type": model_type,
        "vocab_size": shapes["token_embd.weight"][0],
        "hidden_size": hidden,
        "intermediate_size": meta.whole("feed_forward_length"),
        "num_hidden_layers": meta.whole("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": meta.whole("attention.head_count_kv", heads),
        "head_dim": meta.whole("attention.key_length", hidden // heads),
        "hidden_act": "silu",
        "rms_norm_eps": meta("attention.layer_norm_rms_epsilon"),
        "rope_theta": meta("rope.freq_base", 10000.0),
        "max_position_embeddings": meta.whole("context_length"),
        "tie_word_embeddings": "output.weight" not in shapes,
        "attention_bias": "blk.0.attn_output.bias" in shapes,
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    _refuse_others(meta, config)
    rope = _rope_scaling(meta, reader, config)
    if rope:
        config["rope_scaling"] = rope
    DecoderConfig.from_hf(config, "The file's metadata, read as a config.json,")
    ends = meta.end_ids()
    ids = {"bos_token_id": meta.token_id("bos"), "eos_token_id": ends if len(ends) > 1 else next(iter(ends), None),
           "pad_token_id": meta.token_id("padding")}
    return config | {key: value for key, value in ids.items() if value is not None}


def _refuse_others(meta: Meta, config: dict[str, Any]) -> None:
    """Raises UserError for a key of the architecture that the config has no place for, unless it says what is so anyway."""
    plain = {"vocab_size": config["vocab_size"], "rope.dimension_count": config["head_dim"], "attention.value_length": config["head_dim"],
             "attention.causal": True, "rope.scaling.attn_factor": 1}
    prefix = f"{meta.architecture}."
    for name in meta.fields:
        key = name.removeprefix(prefix)
        if key == name or key in USED | UNUSED:
            continue
        value = meta.get(name)
        if key in plain:
            if value != plain[key]:
                raise UserError(f"{name} is {value}, and only {plain[key]} is supported for this model")
        elif key == "attention.sliding_window" and type(value) is int and value >= config["max_position_embeddings"]:
            continue
        elif value:         # 0, false and an empty list switch nothing on
            raise UserError(f"{name} ({value}) is not supported, and the model may compute with it")


def _rope_scaling(meta: Meta, reader: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    kind, factor = meta("rope.scaling.type", "linear"), meta("rope.scaling.factor", None)
    if kind not in ("none", "linear"):
        raise UserError(f"rope scaling {kind!r} is not supported")
    if factor is None:
        factor = meta("rope.scale_linear", 0)       # the key's old name
    scaled = kind == "linear" and factor not in (0, 1)
    table = next((tensor.data for tensor in reader.tensors if tensor.name == "rope_freqs.weight"), None)
    if table is None:
        return {"rope_type": "linear", "factor": factor} if scaled else None
    if scaled:
        raise UserError("a rope frequency table together with a scaling factor is not supported")
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
