"""What a config.json leaves out: transformers' own config class of the family knows it. transformers is imported only where something is missing."""
from __future__ import annotations

import copy
from typing import Any

from core.errors import EnvironmentFailure, UserError

# Keys that decide what the decoder computes, and that a complete config gives. The others are off where they are missing, in every family.
DECIDING = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "rms_norm_eps",
            "max_position_embeddings", "tie_word_embeddings")


def complete(hf: dict[str, Any], where: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(the config with every key, the names of those that were missing). The family is one of core.models.config.FAMILIES.

    Raises UserError where transformers refuses the config, EnvironmentFailure where it is needed and not installed.
    """
    lacking = missing(hf)
    if not lacking:
        return hf, ()
    try:
        from transformers import CONFIG_MAPPING
    except ImportError:
        raise EnvironmentFailure(f"{where} leaves out {', '.join(lacking)}, whose defaults are transformers': "
                                 "pip install transformers.") from None
    try:
        full = CONFIG_MAPPING[hf["model_type"]].from_dict(copy.deepcopy(hf)).to_dict()
    except Exception as error:      # its validators raise whatever a strange value makes of them
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"{where} leaves out {', '.join(lacking)}, and transformers cannot complete it: {reason}.") from None
    return full, lacking


def missing(hf: dict[str, Any]) -> tuple[str, ...]:
    """The keys that transformers' config class would have to fill in. null is a value for `sliding_window` alone."""
    names = [*DECIDING, *(["head_dim"] if hf["model_type"] != "qwen2" else [])]         # Qwen2's class has none either
    lacking = [name for name in names if hf.get(name) is None]
    rope = hf.get("rope_scaling") or hf.get("rope_parameters") or {}
    if "rope_theta" not in hf and isinstance(rope, dict) and "rope_theta" not in rope:
        lacking.append("rope_theta")
    if hf["model_type"] == "mistral" and "sliding_window" not in hf:
        lacking.append("sliding_window")
    if hf["model_type"].startswith("qwen") and hf.get("use_sliding_window"):
        lacking += [name for name in ("sliding_window", *(["max_window_layers"] if hf.get("layer_types") is None else [])) if name not in hf]
    return tuple(lacking)
