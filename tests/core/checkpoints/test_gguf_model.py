"""GGUF files made here from random transformers models, read back, and run by transformers again: the logits must be the same."""

from __future__ import annotations

import json

import gguf
import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, Qwen2Config, Qwen3Config

from core.checkpoints import gguf_model
from core.errors import UserError

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
TOKENS = [*SPECIALS, *BYTES, "12", "ab", "Ġab"]
MERGES = ["1 2", "a b", "Ġ ab"]
SIZES = {"vocab_size": len(TOKENS), "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 256}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
MODELS = {
    "llama-tied": LlamaConfig(**SIZES, tie_word_embeddings=True, rope_theta=100000.0),
    "llama-untied": LlamaConfig(**SIZES, tie_word_embeddings=False),
    "llama-biased": LlamaConfig(**SIZES, attention_bias=True),
    "llama3-rope": LlamaConfig(**SIZES | {"max_position_embeddings": 16384}, rope_theta=500000.0, rope_scaling=LLAMA3),
    "qwen2": Qwen2Config(**SIZES, rope_theta=1000000.0),
    "qwen3": Qwen3Config(**SIZES, head_dim=32, tie_word_embeddings=True),
}


def random_model(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms too: transformers starts them at 0 and 1
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def permuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """As llama.cpp's convert_hf_to_gguf.py writes q and k of Llama models."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def write_gguf(path, model, *, arch=None, kind="gpt2", pre="smollm", tokens=TOKENS, merges=MERGES, types=None, quantised=None, extra=()):
    config = model.config
    arch = arch or config.model_type
    writer = gguf.GGUFWriter(path, arch)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(model.model.layers[0].self_attn.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model(kind)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS)) if types is None else types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(pre == "llama-bpe")
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, config.model_type.upper()), config.num_hidden_layers)
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        array = value.numpy()
        heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads}.get(name.split("_proj")[0][-1])
        if config.model_type == "llama" and "self_attn" in name and heads:
            array = permuted(array, heads)
        name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if quantised is not None and array.ndim == 2:
            writer.add_tensor(name, gguf.quants.quantize(array, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(name, array)
    if config.rope_parameters["rope_type"] == "llama3":
        base = config.rope_parameters["rope_theta"] ** -(np.arange(0, 16, 2) / 16)
        extra = (*extra, ("rope_freqs.weight", (base / model.model.rotary_emb.inv_freq.numpy()).astype(np.float32)))
    for name, array in extra:
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def tiny():
    return random_model(MODELS["llama-tied"])


@pytest.mark.parametrize("name", MODELS)
def test_logits_equal_those_of_the_model_the_file_was_made_from(name, tmp_path):
    model = random_model(MODELS[name])
    gguf_model.read(write_gguf(tmp_path / "m.gguf", model), torch.float32).save(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.randint(0, SIZES["vocab_size"], (1, 200), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected, got = model(ids).logits, again(ids).logits
    assert type(again) is type(model)
    assert expected.abs().max() > 1
    assert (expected - got).abs().max() <= 1e-5


def test_q4_1_blocks_are_dequantised_to_bf16(tiny, tmp_path):
    model = gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny, quantised=gguf.GGMLQuantizationType.Q4_1))
    raw = next(t for t in gguf.GGUFReader(tmp_path / "m.gguf").tensors if t.name == "blk.1.ffn_up.weight").data
    blocks = raw.reshape(-1, 20)  # 32 weights: scale and minimum as float16, then 16 bytes, low halves first
    scale, low = (blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32) for at in (0, 2))
    values = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1) * scale + low
    got = model.tensors["model.layers.1.mlp.up_proj.weight"]
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, torch.from_numpy(values.reshape(96, 64)).to(torch.bfloat16))
    assert (got.float() - tiny.model.layers[1].mlp.up_proj.weight).abs().max() < 0.05


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0"])
def test_other_storage_types_are_read(kind, tiny, tmp_path):
    got = gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny, quantised=gguf.GGMLQuantizationType[kind])).tensors
    wanted = tiny.model.layers[0].self_attn.k_proj.weight
    assert (got["model.layers.0.self_attn.k_proj.weight"].float() - wanted).abs().max() < (0.05 if kind == "Q4_0" else 0.005)


def test_config_and_tokenizer_files_say_what_the_gguf_says(tiny, tmp_path):
    seen = []
    gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny), progress=seen.append).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for key in (*SIZES, "tie_word_embeddings"):
        assert config[key] == getattr(tiny.config, key), key
    assert (config["rms_norm_eps"], config["rope_theta"], config["eos_token_id"]) == (1e-6, 100000.0, 2)
    assert json.loads((tmp_path / "generation_config.json").read_text())["eos_token_id"] == 2
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == 1
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.unk_token) == ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "config.json").stat().st_mode


# The merge "1 2" shows where digits are cut: Llama 3 keeps up to three together, the others none.
@pytest.mark.parametrize(("pre", "pieces"), [("smollm", ["1", "2"]), ("qwen2", ["1", "2"]), ("llama-bpe", ["<|im_start|>", "12"])])
def test_pre_tokenizers(pre, pieces, tiny, tmp_path):
    tokenizer = gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny, pre=pre)).tokenizer
    assert tokenizer.encode("12").tokens == pieces
    assert tokenizer.encode("ab ab<|im_end|>", add_special_tokens=False).tokens == ["ab", "Ġab", "<|im_end|>"]
    text = "don't  stop\n\n 日本 😀 é \\ <b>${x}"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_qwen2_tokens_are_those_of_transformers(tiny, tmp_path):
    from transformers import Qwen2Tokenizer

    vocab = {token: index for index, token in enumerate(TOKENS)}
    theirs = Qwen2Tokenizer(vocab=vocab, merges=[tuple(merge.split(" ")) for merge in MERGES])
    ours = gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny, pre="qwen2")).tokenizer
    for text in ("ab ab12 12ab", "we'RE\r\n\r\n  ab\t12", "e\u0301 é 日本…!! ab"):
        assert ours.encode(text).ids == theirs.encode(text, add_special_tokens=False), text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pre": "deepseek-r1-qwen"}, "pre-tokenizer 'deepseek-r1-qwen'"),
        ({"kind": "llama"}, "tokenizer 'llama'"),
        ({"arch": "gemma3"}, "architecture 'gemma3'"),
        ({"merges": ["zz zz"]}, "merges"),
        ({"types": [3, 1]}, f"2 token types for {len(TOKENS)} tokens"),
        ({"extra": [("blk.0.ffn_gate_inp.weight", np.zeros((4, 4), np.float32))]}, "blk.0.ffn_gate_inp.weight"),
        ({"extra": [("rope_freqs.weight", np.full(8, 3.0, np.float32))]}, "rope frequency table"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(options, words, tiny, tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tiny, **options)
    with pytest.raises(UserError, match=words) as caught:
        gguf_model.read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.99])
def test_a_cut_file_is_refused(share, tiny, tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tiny)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UserError, match="not a complete GGUF"):
        gguf_model.read(path)


def test_a_missing_and_a_foreign_file_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        gguf_model.read(tmp_path / "none.gguf")
    (tmp_path / "zip.gguf").write_bytes(b"PK\x03\x04" * 1000)
    with pytest.raises(UserError, match="not a complete GGUF"):
        gguf_model.read(tmp_path / "zip.gguf")


def test_a_full_disk_shows_up_as_the_systems_own_error(tiny, tmp_path, monkeypatch):
    def full(*_, **__):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    model = gguf_model.read(write_gguf(tmp_path / "m.gguf", tiny))
    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(OSError) as caught:
        model.save(tmp_path)
    assert caught.value.errno == 28
