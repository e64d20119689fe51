"""What a Llama-family checkpoint looks like, read from its transformers config. Refuses what the decoder does not compute."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
ROPE_TYPES = ("default", "linear", "llama3")


@dataclass(frozen=True)
class DecoderConfig:
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    rope_scaling: dict[str, Any] = field(default_factory=dict)
    max_positions: int = 2048
    tied_head: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    sliding_window: int | None = None
    eos_ids: tuple[int, ...] = ()

    @classmethod
    def from_hf(cls, hf: dict[str, Any]) -> DecoderConfig:
        """config.json of a transformers checkpoint -> DecoderConfig. Raises UserError naming what is not supported."""
        family = hf.get("model_type")
        if family not in FAMILIES:
            raise UserError(f"Model type {family!r} is not one of {', '.join(FAMILIES)}; this decoder cannot run it.")
        if hf.get("hidden_act", "silu") != "silu":
            raise UserError(f"Activation {hf['hidden_act']!r} is not supported; Llama-family models use 'silu'.")
        rope = dict(hf.get("rope_parameters") or hf.get("rope_scaling") or {})
        kind = rope.pop("rope_type", rope.pop("type", "default"))
        if kind not in ROPE_TYPES:
            raise UserError(f"RoPE scaling {kind!r} is not one of {', '.join(ROPE_TYPES)}.")
        window = hf.get("sliding_window")
        if family in ("qwen2", "qwen3") and (not hf.get("use_sliding_window") or "full_attention" in (hf.get("layer_types") or [])):
            if hf.get("use_sliding_window") and "sliding_attention" in (hf.get("layer_types") or []):
                raise UserError("Models that mix sliding-window and full attention layers are not supported.")
            window = None
        heads = hf["num_attention_heads"]
        bias = bool(hf.get("attention_bias", False))
        eos = hf.get("eos_token_id")
        try:
            return cls(
                vocab_size=hf["vocab_size"], hidden_size=hf["hidden_size"], intermediate_size=hf["intermediate_size"],
                num_layers=hf["num_hidden_layers"], num_heads=heads, num_kv_heads=hf.get("num_key_value_heads") or heads,
                head_dim=hf.get("head_dim") or hf["hidden_size"] // heads, rms_norm_eps=hf.get("rms_norm_eps", 1e-6),
                rope_theta=float(rope.pop("rope_theta", None) or hf.get("rope_theta") or 10000.0),
                rope_scaling={"rope_type": kind, **rope}, max_positions=hf.get("max_position_embeddings", 2048),
                tied_head=bool(hf.get("tie_word_embeddings", False)), qkv_bias=family == "qwen2" or bias,
                o_bias=bias and family != "qwen2", mlp_bias=bool(hf.get("mlp_bias", False)), qk_norm=family == "qwen3",
                sliding_window=window, eos_ids=tuple(eos if isinstance(eos, list) else [] if eos is None else [eos]))
        except KeyError as error:
            raise UserError(f"The model's config.json lacks {error.args[0]!r}.") from None
