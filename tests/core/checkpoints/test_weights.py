"""Checkpoints are read strictly: each tensor is there, no other, in its shape, and nothing in a file is ever run."""
from __future__ import annotations

import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.checkpoints import weights
from core.errors import UserError
from tests.core import tiny

TOKENS = torch.tensor([[3, 1, 4, 1, 5]])


@pytest.fixture
def folder(tmp_path):
    return tiny.checkpoint(tmp_path / "model")


def load(folder):
    return weights.load_decoder(folder, torch.float64, "cpu")


def change(folder, edit) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors")


def config_of(folder, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_checkpoint_is_read(folder):
    want = tiny.decoder(0, torch.float32)
    with torch.inference_mode():
        torch.testing.assert_close(load(folder)(TOKENS).float(), want(TOKENS), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "model.layers.1.self_attn.k_proj.weight",
                                  "model.layers.0.mlp.up_proj.weight", "model.layers.1.post_attention_layernorm.weight"])
@pytest.mark.parametrize("how", ["missing", "shape"])
def test_missing_and_misshapen_tensors_are_named(folder, name, how):
    def edit(tensors):
        if how == "missing":
            del tensors[name]
        else:
            tensors[name] = tensors[name][:-1].clone()
    change(folder, edit)
    with pytest.raises(UserError, match=f"{name.replace('.', '[.]')}.*{how}"):
        load(folder)


@pytest.mark.parametrize("name", ["model.layers.2.mlp.up_proj.weight", "model.layers.0.self_attn.q_proj.bias", "extra",
                                  "model.layers.0.self_attn.q_norm.weight"])
def test_unexpected_tensors_are_named(folder, name):
    change(folder, lambda tensors: tensors.update({name: torch.zeros(3)}))
    with pytest.raises(UserError, match="unexpected.*" + name.replace(".", "[.]")):
        load(folder)


def test_buffers_of_old_files_are_ignored(folder):
    change(folder, lambda tensors: tensors.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.zeros(4)}))
    load(folder)


@pytest.mark.parametrize("head", ["none", "equal"])
def test_a_tied_head_may_be_written_out(folder, head):
    def edit(tensors):
        tensors.pop("lm_head.weight")
        if head == "equal":
            tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    change(folder, edit)
    config_of(folder, tie_word_embeddings=True)
    model = load(folder)
    assert model.head.weight is model.embed


@pytest.mark.parametrize("edit", [lambda t: None, lambda t: t.pop("model.embed_tokens.weight"),
                                  lambda t: t.update({"lm_head.weight": torch.zeros(3)})],
                         ids=["another head", "no embedding", "misshapen"])
def test_a_tied_head_that_differs_is_refused(folder, edit):
    change(folder, edit)
    config_of(folder, tie_word_embeddings=True)
    with pytest.raises(UserError, match=r"lm_head|embed_tokens"):
        load(folder)


def sharded(folder, ending=".safetensors"):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = list(tensors)
    stem = "model" if ending == ".safetensors" else "pytorch_model"
    parts = {f"{stem}-0000{i + 1}-of-00002{ending}": {n: tensors[n] for n in names[i::2]} for i in range(2)}
    for file, part in parts.items():
        save_file(part, folder / file) if ending == ".safetensors" else torch.save(part, folder / file)
    index = {"weight_map": {n: file for file, part in parts.items() for n in part}}
    (folder / f"{stem}{ending}.index.json").write_text(json.dumps(index))
    return list(parts)


@pytest.mark.parametrize("ending", [".safetensors", ".bin"])
def test_shards(folder, ending):
    want = load(folder)(TOKENS)
    sharded(folder, ending)
    torch.testing.assert_close(load(folder)(TOKENS), want, rtol=0, atol=0)


@pytest.mark.parametrize("ending", [".safetensors", ".bin"])
def test_a_missing_shard_is_refused(folder, ending):
    (folder / sharded(folder, ending)[1]).unlink()
    with pytest.raises(UserError, match=r"missing|00002-of"):
        load(folder)


def test_a_second_copy_of_the_weights_beside_them_is_not_read(folder):
    """Mistral's repositories also hold consolidated.safetensors, with other names."""
    want = load(folder)(TOKENS)
    save_file({"tok_embeddings.weight": torch.zeros(2)}, folder / "consolidated.safetensors")
    torch.testing.assert_close(load(folder)(TOKENS), want)
    sharded(folder)
    torch.testing.assert_close(load(folder)(TOKENS), want)


def as_bin(folder, content) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / "pytorch_model.bin")


def test_pytorch_weights(folder):
    want = load(folder)(TOKENS)
    as_bin(folder, load_file(folder / "model.safetensors"))
    torch.testing.assert_close(load(folder)(TOKENS), want, rtol=0, atol=0)


class Hostile:
    def __init__(self, mark) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_a_hostile_pickle_is_refused_and_not_run(folder, tmp_path):
    as_bin(folder, {"model.norm.weight": Hostile(tmp_path / "owned")})
    with pytest.raises(UserError, match="not loaded"):
        load(folder)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("content", [[1, 2], {"model.embed_tokens.weight": 5}, {"model.norm.weight": [1.0]}, 7, {5: torch.zeros(2)}], ids=str)
def test_bin_files_that_hold_something_else(folder, content):
    as_bin(folder, content)
    with pytest.raises(UserError):
        load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("data", [b"", b"no weights", b"\x80\x02}q\x00", b"\xff" * 5000, (10 ** 9).to_bytes(8, "little") + b"{}"], ids=range(5))
def test_damaged_files_are_one_sentence(folder, name, data):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(data)
    with pytest.raises(UserError, match=name) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_truncated_file(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"model.safetensors"):
        load(folder)


@pytest.mark.parametrize("text", ["", "[]", "5", "null", "{", '"llama"', "[" * 100_000, "\ufeff{}", "1" * 5000])
def test_config_files_that_are_none(folder, text):
    (folder / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"config[.]json|Model type"):
        load(folder)


def test_folders_without_config_or_weights(tmp_path, folder):
    with pytest.raises(UserError, match=r"config\.json"):
        load(tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no weights"):
        load(folder)


@pytest.mark.parametrize("changes", [{"qkv_bias": True}, {"qkv_bias": True, "o_bias": True, "mlp_bias": True}, {"qk_norm": True},
                                     {"tied_head": True}], ids=str)
def test_the_plan_names_every_tensor_and_build_uses_each(changes):
    c = tiny.config(**changes)
    tensors = tiny.random_tensors(c, 0)
    base = weights.build(c, tensors, "tiny", torch.float64, "cpu")(TOKENS)
    for name in tensors:
        other = weights.build(c, tensors | {name: tensors[name] * 1.5 + 0.1}, "tiny", torch.float64, "cpu")
        same = torch.equal(other(TOKENS), base)
        assert not same or name.endswith("k_proj.bias"), name        # a constant key bias moves all scores of a query alike


def test_a_reduced_head_keeps_its_own_rows():
    c = tiny.config(tied_head=True)
    model = weights.build(c, tiny.random_tensors(c, 0, head_size=6), "tiny", torch.float64, "cpu", head_size=6)
    assert model(TOKENS).shape == (1, 5, 6) and model.head.weight is not model.embed
