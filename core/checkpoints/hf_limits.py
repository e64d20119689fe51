"""What transformers' causal LMs cannot do here, from their configs: keep more than keys and values, or go past their longest context."""
from __future__ import annotations

from typing import Any

from torch import nn

from core.errors import UserError

INSTEAD = "Take a model with attention in every layer, such as Llama, Qwen3, Gemma 3, Phi-3 or GPT-NeoX."
ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")
# Names of the longest context: transformers' common one (which most other names are mapped to), MPT's, and that of Whisper's decoder.
LIMITS = ("max_position_embeddings", "max_seq_len", "max_target_positions")
ENDLESS = ("bloom",)            # ALiBi on a mask as long as the text
NO_LIMIT = 1 << 30


def refuse_state(config: Any, stateful: bool) -> None:
    """Raises UserError for a model that keeps more than keys and values."""
    kinds = [k for k in dict.fromkeys(getattr(config, "layer_types", None) or ()) if k not in ATTENTION]
    if stateful or kinds:
        what = f"layers of kind {', '.join(kinds)}" if kinds else "layers with a recurrent state"
        raise UserError(f"Model type {config.model_type!r} has {what}, which cannot take back a rejected token; no method is offered for it, plain "
                        f"included, since all share one cache. {INSTEAD}")
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"Model type {config.model_type!r} has an encoder; only decoders that continue a text can run. {INSTEAD}")


def longest(config: Any, first: int = 0) -> int:
    """Tokens of context the model may reach. first: the number of its first position (`first_position`).

    Where its RoPE is rescaled by the length of the text, up to there: keys that are cached already would not follow. Raises UserError where
    the config gives no limit: the model's own error would come in the middle of a run.
    """
    given = [value for value in (getattr(config, name, None) for name in LIMITS) if type(value) is int and value > 0]
    if not given and config.model_type in ENDLESS:
        return NO_LIMIT
    if not given:
        raise UserError(f"Model type {config.model_type!r} gives its longest context under none of the names known here ({', '.join(LIMITS)}). "
                        f"{INSTEAD}")
    most = given[0] - first
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    for part in (rope, *(inner for inner in rope.values() if isinstance(inner, dict))):
        if part.get("rope_type", part.get("type")) in ("dynamic", "longrope"):
            most = min(most, part.get("original_max_position_embeddings") or getattr(config, "original_max_position_embeddings", None) or most)
    return most


def first_position(model: nn.Module) -> int:
    """RoBERTa and its kin count positions from behind the row of their position table that stands for padding; all others from 0."""
    tables = (module for name, module in model.named_modules() if name.endswith("position_embeddings") and isinstance(module, nn.Embedding))
    return next((table.padding_idx + 1 for table in tables if table.padding_idx is not None), 0)
