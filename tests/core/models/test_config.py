"""config.json -> DecoderConfig: what is not computed is refused in words, never run wrongly."""
from __future__ import annotations

import pytest
from transformers import MistralConfig, Qwen2Config

from core.errors import UserError
from core.models.config import DecoderConfig
from tests.core import tiny

LLAMA = tiny.hf_config(tiny.config())
SIZES = {"vocab_size": 20, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4}


def read(**changes) -> DecoderConfig:
    return DecoderConfig.from_hf(LLAMA | changes)


@pytest.mark.parametrize(("changes", "said"), [
    ({"model_type": "gpt2"}, "gpt2"), ({"model_type": None}, "None"), ({"model_type": "gemma3"}, "gemma3"), ({"model_type": ["llama"]}, "llama"),
    ({"hidden_act": "gelu"}, "gelu"), ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "yarn"),
    ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "dynamic"), ({"rope_scaling": {"type": "longrope"}}, "longrope"),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "low_freq_factor"), ({"rope_scaling": {"type": "linear"}}, "factor"),
    ({"rope_scaling": "yarn"}, "rope"), ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8,
                                         "layer_types": ["full_attention", "sliding_attention"]}, "mix"),
    ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}, "mix"),
    ({"num_attention_heads": 0}, "num_attention_heads"), ({"num_attention_heads": "4"}, "num_attention_heads"),
    ({"hidden_size": None}, "hidden_size"),
    ({"vocab_size": -5}, "vocab_size"), ({"num_hidden_layers": 2.5}, "num_hidden_layers"), ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"head_dim": 7}, "head_dim"), ({"rms_norm_eps": "tiny"}, "rms_norm_eps"), ({"rope_theta": "big"}, "rope_theta")], ids=str)
def test_refusals_name_what_is_not_supported(changes, said):
    with pytest.raises(UserError, match=said):
        read(**changes)


@pytest.mark.parametrize("key", ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"])
def test_a_missing_size_is_named(key):
    with pytest.raises(UserError, match=key):
        DecoderConfig.from_hf({k: v for k, v in LLAMA.items() if k != key})


@pytest.mark.parametrize(("eos", "want"), [(None, ()), (2, (2,)), (0, (0,)), ([2, 5], (2, 5))])
def test_end_tokens(eos, want):
    assert read(eos_token_id=eos).eos_ids == want


@pytest.mark.parametrize("layers", [0, 2, 4, 28])
def test_qwens_windows_are_in_the_layers_where_transformers_puts_them(layers):
    """Also where an old config.json has max_window_layers but no layer_types."""
    hf = Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=8, max_window_layers=layers).to_dict()
    kinds = set(hf["layer_types"])
    for data in (hf, {k: v for k, v in hf.items() if k != "layer_types"}):
        if len(kinds) == 2:
            with pytest.raises(UserError, match="mix"):
                DecoderConfig.from_hf(data)
        else:
            assert DecoderConfig.from_hf(data).sliding_window == (8 if kinds == {"sliding_attention"} else None)


def test_a_window_counts_only_where_the_family_has_one():
    assert DecoderConfig.from_hf(MistralConfig(**SIZES, sliding_window=9).to_dict()).sliding_window == 9
    assert read(sliding_window=9).sliding_window is None
    assert read(model_type="qwen2", use_sliding_window=False, sliding_window=9).sliding_window is None


def test_old_and_new_spelling_of_rope_mean_the_same():
    old = read(rope_theta=5e5, rope_scaling={"type": "linear", "factor": 2.0})
    new = DecoderConfig.from_hf({k: v for k, v in LLAMA.items() if k != "rope_theta"}
                                | {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}})
    assert (old.rope_theta, old.rope_scaling) == (new.rope_theta, new.rope_scaling) == (5e5, {"rope_type": "linear", "factor": 2.0})
