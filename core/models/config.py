"""What a Llama-family checkpoint looks like, read from its transformers config. Refuses what the decoder does not compute."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
ROPE_TYPES = {"default": (), "linear": ("factor",),      # type -> the numbers it needs
              "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")}


class Unsupported(UserError):
    """A sound model that this decoder does not compute; transformers may."""


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
            raise Unsupported(f"Model type {family!r} is not one of {', '.join(FAMILIES)}; this decoder cannot run it.")
        if hf.get("hidden_act", "silu") != "silu":
            raise Unsupported(f"Activation {hf['hidden_act']!r} is not supported; Llama-family models use 'silu'.")
        heads, hidden, layers = (_whole(hf, name) for name in ("num_attention_heads", "hidden_size", "num_hidden_layers"))
        kv_heads, head_dim = _whole(hf, "num_key_value_heads", heads), _whole(hf, "head_dim", hidden // heads)
        if heads % kv_heads or head_dim % 2:
            raise UserError(f"The model's config.json does not add up: num_attention_heads {heads}, num_key_value_heads {kv_heads}, "
                            f"head_dim {head_dim}.")
        theta, scaling = _rope(hf)
        bias = bool(hf.get("attention_bias", False))
        eos = hf.get("eos_token_id")
        return cls(
            vocab_size=_whole(hf, "vocab_size"), hidden_size=hidden, intermediate_size=_whole(hf, "intermediate_size"), num_layers=layers,
            num_heads=heads, num_kv_heads=kv_heads, head_dim=head_dim, rms_norm_eps=_number(hf, "rms_norm_eps", 1e-6), rope_theta=theta,
            rope_scaling=scaling, max_positions=_whole(hf, "max_position_embeddings", 2048),
            tied_head=bool(hf.get("tie_word_embeddings", False)), qkv_bias=family == "qwen2" or bias, o_bias=bias and family != "qwen2",
            mlp_bias=bool(hf.get("mlp_bias", False)), qk_norm=family == "qwen3", sliding_window=_window(hf, family, layers),
            eos_ids=tuple(eos if isinstance(eos, list) else [] if eos is None else [eos]))


def _whole(data: dict[str, Any], name: str, default: int | None = None) -> int:
    value = data.get(name) if data.get(name) is not None else default
    if value is None:
        raise UserError(f"The model's config.json lacks {name!r}.")
    if type(value) is not int or value < 1:
        raise UserError(f"The model's config.json gives {name} as {value!r}; it must be a whole number from 1 up.")
    return value


def _number(data: dict[str, Any], name: str, default: float | None = None) -> float:
    value = data.get(name) if data.get(name) is not None else default
    if value is None:
        raise UserError(f"The model's config.json lacks {name!r}.")
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise UserError(f"The model's config.json gives {name} as {value!r}; it must be a number above 0.")
    return float(value)


def _rope(hf: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """(theta, scaling with its rope_type), from the new spelling (rope_parameters) or the old one (rope_theta, rope_scaling)."""
    given = hf.get("rope_parameters") or hf.get("rope_scaling") or {}
    if not isinstance(given, dict):
        raise UserError(f"The model's config.json gives rope scaling as {given!r}, not by its parameters.")
    scaling = dict(given)
    kind = scaling.pop("rope_type", scaling.pop("type", "default"))
    if kind not in ROPE_TYPES:
        raise Unsupported(f"RoPE scaling {kind!r} is not one of {', '.join(ROPE_TYPES)}.")
    for name in ROPE_TYPES[kind]:
        _number(scaling, name)
    return _number({"rope_theta": scaling.pop("rope_theta", None) or hf.get("rope_theta")}, "rope_theta", 10000.0), {"rope_type": kind, **scaling}


def _window(hf: dict[str, Any], family: str, layers: int) -> int | None:
    """Mistral's window is in all layers, Qwen's (if switched on) from layer max_window_layers on; Llama has none."""
    if hf.get("sliding_window") is None or family == "llama" or (family != "mistral" and not hf.get("use_sliding_window")):
        return None
    window = _whole(hf, "sliding_window")
    if family == "mistral":
        return window
    first = hf.get("max_window_layers", 28)
    kinds = set(hf.get("layer_types") or ("sliding_attention" if i >= first else "full_attention" for i in range(layers)))
    if len(kinds) > 1:
        raise Unsupported("Models that mix sliding-window and full attention layers are not supported.")
    return window if kinds == {"sliding_attention"} else None
