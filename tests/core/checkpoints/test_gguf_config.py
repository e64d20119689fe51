"""GGUF metadata: what changes the model is used as llama.cpp uses it, or refused; nothing of it is passed over."""
from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from gguf import GGUFWriter

from core.checkpoints import gguf_config, gguf_model, load, resolve
from core.errors import UserError
from core.models import rope
from tests.core.checkpoints.test_gguf_model import BYTES

H, HEADS, KV = 32, 4, 2
TOKENS = ["<s>", "</s>", "<a>", "<b>", *BYTES, "<|eot_id|>", "<|im_end|>", "<|eom_id|>", "<|endoftext|>"]       # the last four: 260 to 263
PROMPT = [5, 9, 11, 40, 41, 5, 9, 200, 22, 7]


def write(path, control: tuple[int, ...] = (0, 1, 2, 3), arch: str = "llama", drop: tuple[str, ...] = (), **extra):
    """A tiny model. extra: more keys, `__` for a dot, ARCH__ for the architecture's own. control: ids of special tokens."""
    writer, rng = GGUFWriter(str(path), arch), np.random.default_rng(0)
    sizes = {"context_length": 128, "embedding_length": H, "block_count": 2, "feed_forward_length": 64, "attention.head_count": HEADS,
             "attention.head_count_kv": KV}
    for key, value in sizes.items():
        if key not in drop:
            writer.add_uint32(f"{arch}.{key}", value)
    writer.add_float32(f"{arch}.attention.layer_norm_rms_epsilon", extra.pop("eps", 1e-5))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if i in control else 1 for i in range(len(TOKENS))])
    writer.add_token_merges([])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(extra.pop("eos", 1))
    for key, value in extra.items():
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string, list: writer.add_array}[type(value)]
        add(key.replace("ARCH", arch).replace("__", "."), value)

    def numbers(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.3).astype(np.float32)

    writer.add_tensor("token_embd.weight", numbers(len(TOKENS), H))
    writer.add_tensor("output_norm.weight", np.ones(H, np.float32))
    writer.add_tensor("output.weight", numbers(len(TOKENS), H))
    for i in range(2):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{name}.weight", np.ones(H, np.float32))
        for name, *shape in (("attn_q", H, H), ("attn_k", 16, H), ("attn_v", 16, H), ("attn_output", H, H), ("ffn_gate", 64, H), ("ffn_up", 64, H),
                             ("ffn_down", H, 64)):
            writer.add_tensor(f"blk.{i}.{name}.weight", numbers(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))


def target(path):
    return load.load(target=str(path), dtype="float32", device="cpu").target


@pytest.mark.parametrize(("keys", "want"), [
    ({}, (1,)), ({"tokenizer__ggml__eot_token_id": 39}, (1, 39)), ({"tokenizer__ggml__eom_token_id": 39}, (1, 39)),
    ({"tokenizer__ggml__eot_token_id": 39, "tokenizer__ggml__eom_token_id": 40}, (1, 39, 40)), ({"tokenizer__ggml__eot_token_id": 1}, (1,)),
    ({"tokenizer__ggml__eot_token_id": 2 ** 32 - 1}, (1,)), ({"eos": 5000}, ()), ({"eos": 5000, "tokenizer__ggml__eot_token_id": 3}, (3,)),
    # not named by the file: known by its text if it is a control token, unless EOS is an end of turn already
    ({"control": (0, 1, 260)}, (1, 260)), ({"control": (0, 1, 261, 262)}, (1, 261, 262)), ({"control": (0, 261), "eos": 261}, (261,)),
    ({"control": (0, 260, 261), "eos": 261}, (261,)), ({"control": (0, 1, 260), "tokenizer__ggml__eot_token_id": 39}, (1, 39)),
    ({"control": (0, 1)}, (1,)), ({"control": (0, 1, 263)}, (1,))], ids=str)
def test_ends_of_generation(tmp_path, keys, want):
    assert target(write(tmp_path / "m.gguf", **keys)).eos_ids == want


def test_a_run_ends_at_the_end_of_turn(tmp_path, capsys):
    from core.cli import main

    def run(path) -> tuple[list[int], str]:
        main.main(["run", "--target", str(path), "--dtype", "float32", "--device", "cpu", "--method", "plain", "--prompt-ids",
                   ",".join(map(str, PROMPT)), "--max-new-tokens", "8", "--json", "-"])
        trace = json.loads(capsys.readouterr().out)
        return [e["id"] for r in trace["rounds"] for e in r["emitted"]], trace["totals"]["stop"]

    whole, _ = run(write(tmp_path / "m.gguf"))
    assert len(whole) == 8
    assert run(write(tmp_path / "n.gguf", tokenizer__ggml__eot_token_id=whole[1])) == (whole[:2], "eos")


@pytest.mark.parametrize(("keys", "factor"), [
    ({}, None), ({"ARCH__rope__scaling__factor": 2.0}, 2), ({"ARCH__rope__scale_linear": 2.0}, 2), ({"ARCH__rope__scaling__factor": 0.0}, None),
    ({"ARCH__rope__scaling__factor": 1.0}, None), ({"ARCH__rope__scaling__factor": 4.0, "ARCH__rope__scale_linear": 2.0}, 4),
    ({"ARCH__rope__scaling__type": "linear", "ARCH__rope__scaling__factor": 2.0}, 2), ({"ARCH__rope__scaling__type": "linear"}, None),
    ({"ARCH__rope__scaling__type": "none", "ARCH__rope__scaling__factor": 2.0}, None)], ids=str)
def test_a_factor_without_a_type_scales_linearly(tmp_path, keys, factor):
    """As in llama.cpp, whose default type is linear and whose factor of 0 is none."""
    config = target(write(tmp_path / "m.gguf", **keys)).model.config
    plain = target(write(tmp_path / "plain.gguf")).model.config
    assert torch.equal(rope.frequencies(config), rope.frequencies(plain) / (factor or 1))


@pytest.mark.parametrize(("keys", "said"), [
    ({"ARCH__rope__dimension_count": 4}, "rope.dimension_count is 4, and only 8"), ({"ARCH__attention__value_length": 16}, "value_length is 16"),
    ({"ARCH__vocab_size": 100}, "vocab_size is 100, and only 264"), ({"ARCH__attention__causal": False}, "causal is False"),
    ({"ARCH__rope__scaling__attn_factor": 1.5}, "attn_factor is 1.5"), ({"ARCH__rope__scaling__type": "yarn"}, "'yarn'"),
    ({"ARCH__rope__scaling__type": "longrope"}, "'longrope'"), ({"ARCH__rope__scaling__factor": -2.0}, "factor as -2.0.*float32"),
    ({"ARCH__expert_count": 8}, r"expert_count \(8\)"), ({"ARCH__attention__sliding_window": 64}, r"sliding_window \(64\)"),
    ({"ARCH__logit_scale": 0.5}, "logit_scale"), ({"ARCH__final_logit_softcapping": 30.0}, "softcapping"),
    ({"ARCH__never_heard_of": 3}, "never_heard_of"),
    ({"ARCH__attention__scale": 0.5}, "attention.scale"), ({"ARCH__rope__dimension_sections": [1, 2]}, "dimension_sections"),
    ({"ARCH__rope__freq_base": 1e-44}, "rope_theta as .*float32"), ({"ARCH__rope__freq_base": float("inf")}, "rope_theta as inf"),
    ({"eps": 1e-44}, "rms_norm_eps as .*float32"), ({"eps": float("nan")}, "rms_norm_eps as nan"), ({"eps": 0.0}, "rms_norm_eps as 0.0"),
    ({"drop": ("attention.head_count",), "ARCH__attention__head_count": 0}, "head_count is 0"),
    ({"drop": ("attention.head_count",), "ARCH__attention__head_count": "4"}, "head_count is '4'"),
    ({"drop": ("block_count",)}, "lacks llama.block_count"), ({"drop": ("block_count",), "ARCH__block_count": [2, 3]}, "layer to layer")], ids=str)
def test_what_the_decoder_does_not_compute_is_refused_by_name(tmp_path, keys, said):
    path = write(tmp_path / "m.gguf", **keys)
    with pytest.raises(UserError, match=said) as caught:
        target(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize("keys", [
    {"ARCH__rope__dimension_count": 8, "ARCH__vocab_size": len(TOKENS), "ARCH__attention__key_length": 8, "ARCH__attention__value_length": 8},
    {"ARCH__expert_count": 0, "ARCH__expert_used_count": 0, "ARCH__attention__causal": True, "ARCH__rope__scaling__attn_factor": 1.0},
    {"ARCH__attention__sliding_window": 128, "ARCH__rope__scaling__finetuned": True, "ARCH__rope__scaling__original_context_length": 64},
    {"ARCH__tensor_data_layout": "Meta AI original pth", "general__name": "x", "general__sampling__temp": 0.7},
    {"drop": ("feed_forward_length",), "ARCH__feed_forward_length": [64, 64]}], ids=str)
def test_what_is_so_anyway_changes_nothing(tmp_path, keys):
    want, got = (target(write(tmp_path / f"{i}.gguf", **k)).model(torch.tensor([PROMPT])) for i, k in enumerate(({}, keys)))
    assert torch.equal(want, got)


@pytest.mark.parametrize(("keys", "want"), [({}, [0, 5]), ({"tokenizer__ggml__add_bos_token": False}, [5]),
                                            ({"tokenizer__ggml__add_eos_token": True}, [0, 5, 1])], ids=str)
def test_marks_around_a_text(tmp_path, keys, want):
    tokenizer = gguf_model.read(write(tmp_path / "m.gguf", **keys)).tokenizer
    text = tokenizer.decode([5])
    assert tokenizer.encode(text).ids == want and tokenizer.encode(text, add_special_tokens=False).ids == [5]


def test_a_file_converted_by_an_older_specscope_is_converted_anew(tmp_path, monkeypatch):
    path = write(tmp_path / "m.gguf", tokenizer__ggml__eot_token_id=39)
    monkeypatch.setattr(gguf_model, "FORMAT", gguf_model.FORMAT - 1)
    monkeypatch.setattr(gguf_config.Meta, "end_ids", lambda self: [1])
    assert target(path).eos_ids == (1,)
    monkeypatch.undo()
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    assert target(path).eos_ids == (1, 39)
    assert len(list((tmp_path / "cache").glob("gguf-*"))) == 2
    assert resolve.from_gguf(path, lambda *_: pytest.fail("converted twice")).name.startswith("gguf-")
