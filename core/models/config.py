"""The sizes and options of a Llama-family decoder, read from a transformers config.json. Refuses what the decoder does not compute."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError
from core.models import config_defaults, rope
from core.models.config_values import ConfigValues, end_ids, short

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
ROPE_TYPES = {"default": (), "linear": ("factor",),      # type -> the numbers it needs
              "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")}


class Unsupported(UserError):
    """A sound model that this decoder does not compute; transformers may."""


@dataclass(frozen=True)
class DecoderConfig:
    """max_positions: longest context in tokens. sliding_window: tokens that every layer sees, itself included; None: all. tied_head: the output
    head is the embedding. qk_norm: an RMS norm on each head's queries and keys (Qwen3). rope_scaling: `rope_type` and its numbers."""
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
    defaulted: tuple[str, ...] = ()     # keys that config.json leaves out: transformers' default for the family stands for them

    @classmethod
    def from_hf(cls, hf: dict[str, Any], where: str = "The model's config.json") -> DecoderConfig:
        """config.json of a transformers checkpoint -> DecoderConfig, with transformers' default for every key that is left out.

        where: the subject of every refusal. Raises Unsupported for a sound model that the decoder does not compute, UserError for values
        that no model has.
        """
        family = hf.get("model_type")
        if family not in FAMILIES:
            raise Unsupported(f"Model type {family!r} is not one of {', '.join(FAMILIES)}; this decoder cannot run it.")
        eos = end_ids(hf.get("eos_token_id"), where)        # of the file alone: transformers' classes have a default that generation ignores
        full, defaulted = config_defaults.complete(hf, where)
        given = ConfigValues(full, where)
        if given.get("hidden_act", "silu") != "silu":
            raise Unsupported(f"Activation {given.get('hidden_act')!r} is not supported; Llama-family models use 'silu'.")
        if given.get("per_layer_config"):
            raise Unsupported("Layers that differ in size (per_layer_config) are not supported.")
        heads, hidden, layers = (given.whole(name) for name in ("num_attention_heads", "hidden_size", "num_hidden_layers"))
        kv_heads, head_dim = given.whole("num_key_value_heads"), given.whole("head_dim", hidden // heads)
        if heads % kv_heads or head_dim % 2:
            raise UserError(f"{where} does not add up: num_attention_heads {heads}, num_key_value_heads {kv_heads}, head_dim {head_dim}.")
        theta, scaling = _rope(given)
        bias = family in ("llama", "qwen3") and given.flag("attention_bias")        # the other two have no such key
        config = cls(
            vocab_size=given.whole("vocab_size"), hidden_size=hidden, intermediate_size=given.whole("intermediate_size"), num_layers=layers,
            num_heads=heads, num_kv_heads=kv_heads, head_dim=head_dim, rms_norm_eps=given.number("rms_norm_eps"), rope_theta=theta,
            rope_scaling=scaling, max_positions=given.whole("max_position_embeddings", least=2), tied_head=given.flag("tie_word_embeddings"),
            qkv_bias=family == "qwen2" or bias, o_bias=bias, mlp_bias=family == "llama" and given.flag("mlp_bias"), qk_norm=family == "qwen3",
            sliding_window=_window(given, family, layers), eos_ids=eos, defaulted=defaulted)
        rope.check(config, where)
        return config

    @property
    def origin(self) -> str:
        """Who asks for these sizes, as the subject of a sentence."""
        return "the config" + (f" with transformers' default for {', '.join(self.defaulted)}" if self.defaulted else "")


def _rope(given: ConfigValues) -> tuple[float, dict[str, Any]]:
    """(theta, scaling with its rope_type), from the old spelling (rope_theta, rope_scaling) or the new one (rope_parameters)."""
    said = given.get("rope_scaling") or given.get("rope_parameters") or {}
    if not isinstance(said, dict):
        raise UserError(f"{given.where} gives rope scaling as {short(said)}, not by its parameters.")
    scaling = dict(said)
    kind = scaling.pop("rope_type", scaling.pop("type", "default"))
    if kind not in tuple(ROPE_TYPES):
        raise Unsupported(f"RoPE scaling {kind!r} is not one of {', '.join(ROPE_TYPES)}.")
    if any(isinstance(value, dict) for value in scaling.values()):
        raise Unsupported("Rope parameters that differ from layer to layer are not supported.")
    if scaling.get("partial_rotary_factor", given.get("partial_rotary_factor")) not in (None, 1):
        raise Unsupported("Rotary embeddings of a part of each head (partial_rotary_factor) are not supported.")
    scaling.setdefault("rope_theta", given.get("rope_theta"))
    if kind == "llama3":        # a key beside the rope parameters goes first, as in transformers
        scaling.setdefault("original_max_position_embeddings", given.get("max_position_embeddings"))
        if given.get("original_max_position_embeddings") is not None:
            scaling["original_max_position_embeddings"] = given.get("original_max_position_embeddings")
    numbers = ConfigValues(scaling, given.where)
    return numbers.number("rope_theta"), {"rope_type": kind} | {name: numbers.number(name) for name in ROPE_TYPES[kind]}


def _window(given: ConfigValues, family: str, layers: int) -> int | None:
    """Mistral's window is in all layers, Qwen's (if switched on) in the layers that `layer_types` names; Llama has none."""
    if family == "llama":
        return None
    if family == "mistral":
        return None if given.get("sliding_window") is None else given.whole("sliding_window")
    window = given.whole("sliding_window") if given.flag("use_sliding_window") and given.get("sliding_window") is not None else None
    kinds = given.get("layer_types")
    if kinds is None:
        first = layers if window is None else given.whole("max_window_layers", least=0)
        kinds = ["sliding_attention" if i >= first else "full_attention" for i in range(layers)]
    if not isinstance(kinds, list) or len(kinds) != layers or not all(isinstance(kind, str) for kind in kinds):
        raise UserError(f"{given.where} must give layer_types as a list of {layers} names, one for each layer.")
    if set(kinds) == {"full_attention"}:
        return None
    if set(kinds) != {"sliding_attention"}:
        raise Unsupported("Models that mix sliding-window and full attention layers are not supported.")
    if window is None:
        raise UserError(f"{given.where} has sliding_attention layers without a sliding_window.")
    return window
