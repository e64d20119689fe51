"""config.json -> DecoderConfig: what is left out is transformers' default, what is not computed is refused in words, never run wrongly."""
from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest
import torch
import transformers as hf
from transformers import MistralConfig, Qwen2Config

from core.checkpoints import load, weights
from core.errors import EnvironmentFailure, UserError
from core.models import config_defaults, rope
from core.models.config import DecoderConfig
from tests.core import tiny

LLAMA = tiny.hf_config(tiny.config())
SIZES = {"vocab_size": 20, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4}
# per family: sizes unlike any default, so that each default is seen where it stands in
FAMILIES = {
    "llama": hf.LlamaConfig(**SIZES, head_dim=8, rms_norm_eps=1e-3, max_position_embeddings=64, rope_theta=5e5, tie_word_embeddings=True,
                            attention_bias=True, mlp_bias=True),
    "mistral": hf.MistralConfig(**SIZES, head_dim=8, rms_norm_eps=1e-3, max_position_embeddings=64, rope_theta=5e5, sliding_window=9),
    "qwen2": hf.Qwen2Config(**SIZES, rms_norm_eps=1e-3, max_position_embeddings=64, rope_theta=5e5, use_sliding_window=True, sliding_window=9,
                            max_window_layers=0),
    "qwen3": hf.Qwen3Config(**SIZES, head_dim=8, rms_norm_eps=1e-3, max_position_embeddings=64, rope_theta=5e5, attention_bias=True)}


def read(**changes) -> DecoderConfig:
    return DecoderConfig.from_hf(LLAMA | changes)


@pytest.mark.parametrize(("changes", "said"), [
    ({"model_type": "gpt2"}, "gpt2"), ({"model_type": None}, "None"), ({"model_type": "gemma3"}, "gemma3"), ({"model_type": ["llama"]}, "llama"),
    ({"hidden_act": "gelu"}, "gelu"), ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "yarn"),
    ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "dynamic"), ({"rope_scaling": {"type": "longrope"}}, "longrope"),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "low_freq_factor"), ({"rope_scaling": {"type": "linear"}}, "factor"),
    ({"rope_scaling": "yarn"}, "rope"), ({"rope_scaling": 5}, "rope"), ({"rope_scaling": {"rope_type": ["linear"]}}, "linear"),
    ({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "layer to layer"), ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ({"per_layer_config": {"0": {"intermediate_size": 8}}}, "per_layer_config"),
    ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"]}, "mix"),
    ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}, "mix"),
    ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": "all"}, "max_window_layers"),
    ({"model_type": "qwen2", "layer_types": ["sliding_attention"] * 2}, "without a sliding_window"),
    ({"model_type": "qwen2", "layer_types": [["full_attention"]] * 2}, "layer_types"),
    ({"model_type": "qwen2", "layer_types": ["full_attention"]}, "list of 2"),
    ({"num_attention_heads": 0}, "num_attention_heads"), ({"num_attention_heads": "4"}, "num_attention_heads"),
    ({"hidden_size": 10 ** 400}, "hidden_size"), ({"attention_bias": "false"}, "attention_bias"), ({"tie_word_embeddings": 1}, "tie_word_embeddings"),
    ({"vocab_size": -5}, "vocab_size"), ({"num_hidden_layers": 2.5}, "num_hidden_layers"), ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"head_dim": 7}, "head_dim"), ({"max_position_embeddings": 1}, "from 2"),
    ({"rms_norm_eps": "tiny"}, "rms_norm_eps"), ({"rope_theta": "big"}, "rope_theta"),
    ({"eos_token_id": "7"}, "eos_token_id"), ({"eos_token_id": [[7]]}, "eos_token_id"), ({"eos_token_id": True}, "eos_token_id")], ids=str)
def test_refusals_name_what_is_not_supported(changes, said):
    with pytest.raises(UserError, match=said) as caught:
        read(**changes)
    assert "\n" not in str(caught.value)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}


@pytest.mark.parametrize("value", [0, -1.0, 1e-320, 5e-46, 1e-39, 1e39, 1e300, 10 ** 400, float("inf"), float("nan"), True])
@pytest.mark.parametrize("name", ["rms_norm_eps", "rope_theta", "factor of linear", *(f"{n} of llama3" for n in LLAMA3 if n != "rope_type")])
def test_numbers_that_float32_does_not_hold_are_refused(name, value):
    """They would pass a check as Python's numbers and be 0 or infinite in the arithmetic."""
    key, _, kind = name.partition(" of ")
    changes = {key: value} if not kind else {"rope_scaling": (LLAMA3 if kind == "llama3" else {"rope_type": "linear"}) | {key: value}}
    with pytest.raises(UserError, match=f"{key}.*float32"):
        read(**changes)


def test_rotary_angles_that_float32_does_not_hold_are_refused():
    assert rope.tables(read(rope_theta=1e-20), 64, torch.float32, "cpu")[0].isfinite().all()
    with pytest.raises(UserError, match=r"rotary angles.*rope_theta 2e-38"):
        read(rope_theta=2e-38, head_dim=64, max_position_embeddings=100_000)
    with pytest.raises(UserError, match=r"rotary angles.*factor 1e-37"):
        read(rope_scaling={"rope_type": "linear", "factor": 1e-37})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_key_left_out_means_what_it_means_to_transformers(family):
    def outcome(config: dict):
        try:
            return dataclasses.replace(DecoderConfig.from_hf(config), eos_ids=(), defaulted=())
        except UserError as error:
            return str(error)

    whole = complete(family)
    for key in set(whole) - {"model_type"}:
        part = {k: v for k, v in whole.items() if k != key}
        filled = hf.CONFIG_MAPPING[family].from_dict(part).to_dict()
        assert outcome(part) == outcome(filled) and not config_defaults.missing(filled), key


def complete(family: str) -> dict:
    """Without the kinds of its layers, which old files do not have and which must be as many as there are layers."""
    return {k: v for k, v in json.loads(FAMILIES[family].to_json_string(use_diff=False)).items() if k != "layer_types"}


def test_complete_configs_are_read_without_transformers():
    code = ("import json, sys; from core.models.config import DecoderConfig\n"
            "for hf in json.load(sys.stdin): assert DecoderConfig.from_hf(hf).defaulted == ()\n"
            "assert 'transformers' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], input=json.dumps([complete(family) for family in FAMILIES]), text=True, check=True)


@pytest.mark.parametrize(("config", "key", "n"), [
    (MistralConfig(**SIZES | {"num_hidden_layers": 1}, head_dim=8, max_position_embeddings=8192, sliding_window=4096), "sliding_window", 4200),
    (hf.Qwen3Config(**SIZES, head_dim=128), "head_dim", 9),
    (MistralConfig(**SIZES | {"num_key_value_heads": 8, "num_attention_heads": 16}, sliding_window=None), "num_key_value_heads", 9),
    (hf.LlamaConfig(**SIZES | {"num_key_value_heads": None}, rope_parameters=LLAMA3 | {"rope_theta": 1e4}), "rope_parameters", 40)],
    ids=["Mistral's window", "Qwen3's head size", "Mistral's kv heads", "Llama 3's original length beside its rope parameters"])
def test_logits_of_a_folder_that_leaves_a_key_out_are_those_of_transformers(config, key, n, tmp_path):
    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.3) if p.dim() > 1 else p.normal_(1, 0.3)
    model.save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    left = {k: v for k, v in json.loads(file.read_text()).items() if k != key}
    if key == "rope_parameters":
        left |= {"rope_theta": 1e4, "rope_scaling": {k: v for k, v in LLAMA3.items() if not k.startswith("original")}}
        left["original_max_position_embeddings"] = LLAMA3["original_max_position_embeddings"]
    file.write_text(json.dumps(left))
    tokens = torch.randint(0, 20, (1, n), generator=torch.Generator().manual_seed(1))
    ours = load.load(target=str(tmp_path), dtype="float32", device="cpu").target.model
    with torch.inference_mode():
        want = hf.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)(tokens).logits[0, -1]
        torch.testing.assert_close(ours(tokens)[0, -1], want, rtol=0, atol=1e-4)


@pytest.mark.parametrize("key", ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"])
def test_a_default_that_does_not_fit_the_weights_is_named(key, tmp_path):
    folder = tiny.checkpoint(tmp_path)
    (folder / "config.json").write_text(json.dumps({k: v for k, v in LLAMA.items() if k != key}))
    with pytest.raises(UserError, match=rf"with transformers' default for {key} asks|missing|add up"):
        weights.load_decoder(folder, torch.float32, "cpu")


def test_an_incomplete_config_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    read()
    with pytest.raises(EnvironmentFailure, match=r"rms_norm_eps.*pip install transformers"):
        DecoderConfig.from_hf({k: v for k, v in LLAMA.items() if k != "rms_norm_eps"})


def test_what_transformers_cannot_complete_is_one_sentence():
    with pytest.raises(UserError, match=r"leaves out rms_norm_eps.*eos_token|leaves out rms_norm_eps.*hidden_size") as caught:
        DecoderConfig.from_hf({k: v for k, v in LLAMA.items() if k != "rms_norm_eps"} | {"hidden_size": "wide"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("eos", "want"), [(None, ()), (2, (2,)), (0, (0,)), ([2, 5], (2, 5)), ([], ())])
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
    assert DecoderConfig.from_hf(MistralConfig(**SIZES, sliding_window=None).to_dict()).sliding_window is None
    assert read(sliding_window=9).sliding_window is None
    assert read(model_type="qwen2", use_sliding_window=False, sliding_window=9).sliding_window is None


def test_old_and_new_spelling_of_rope_mean_the_same():
    old = read(rope_theta=5e5, rope_scaling={"type": "linear", "factor": 2.0})
    new = DecoderConfig.from_hf({k: v for k, v in LLAMA.items() if k != "rope_theta"}
                                | {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}})
    assert (old.rope_theta, old.rope_scaling) == (new.rope_theta, new.rope_scaling) == (5e5, {"rope_type": "linear", "factor": 2.0})


@pytest.mark.parametrize("given", [
    {"rope_scaling": {"type": "linear", "factor": 2.0}}, {"rope_scaling": {"type": "linear", "factor": 0.5}}, {"rope_scaling": LLAMA3},
    {"rope_scaling": LLAMA3 | {"low_freq_factor": 4.0, "high_freq_factor": 1.0}},
    {"rope_scaling": {k: v for k, v in LLAMA3.items() if not k.startswith("original")}},
    {"rope_scaling": LLAMA3, "original_max_position_embeddings": 50}, {"rope_parameters": LLAMA3 | {"rope_theta": 77.0}},
    {"rope_parameters": LLAMA3, "rope_scaling": {"type": "linear", "factor": 2.0}}, {"rope_theta": 3}], ids=str)
def test_rotary_frequencies_are_those_of_transformers(given):
    data = LLAMA | {"head_dim": 64, "rope_theta": 1e4} | given
    model = hf.LlamaModel(hf.LlamaConfig.from_dict(json.loads(json.dumps(data | {"num_hidden_layers": 1}))))
    assert torch.equal(rope.frequencies(DecoderConfig.from_hf(data)), model.rotary_emb.inv_freq)
