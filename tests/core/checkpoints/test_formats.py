"""Published draft heads: told apart, read strictly, refused with the reason, never executed."""
from __future__ import annotations

import json
import os
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.checkpoints import load, tensor_files
from core.checkpoints.formats import eagle, files, medusa, method_of, sniff
from core.errors import UserError
from tests.core import heads, tiny
from tests.core.heads import DRAFT, H, L, V

CONFIG = tiny.config(vocab_size=V, num_layers=L)
WRITERS = {"eagle3": heads.eagle3, "eagle": heads.eagle1, "speculators": heads.speculators, "medusa": heads.medusa, "medusa-1.0": heads.medusa1,
           "medusa-vllm": heads.medusa_vllm, "model": lambda folder: tiny.checkpoint(folder, vocab_size=V)}


def read(folder, target=CONFIG):
    kind = sniff(folder)
    return (medusa if kind.startswith("medusa") else eagle).read(folder, kind, target)


def refused(folder, *words: str, target=CONFIG) -> None:
    with pytest.raises(UserError) as caught:
        read(folder, target)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def change(folder, put: dict | None = None, drop: str | None = None, file: str = "model.safetensors", **config) -> None:
    tensors = load_file(folder / file) if file.endswith("safetensors") else torch.load(folder / file, weights_only=True)
    if drop:
        del tensors[drop]
    tensors |= put or {}
    save_file(tensors, folder / file) if file.endswith("safetensors") else torch.save(tensors, folder / file)
    if config:
        hf = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(hf | config))


@pytest.mark.parametrize("kind", WRITERS)
def test_formats_are_told_apart(tmp_path, kind):
    WRITERS[kind](tmp_path)
    assert sniff(tmp_path) == kind
    assert method_of(tmp_path) == {"model": "draft"}.get(kind, "medusa" if "medusa" in kind else "eagle")


@pytest.mark.parametrize("case", ["vLLM names, whole vocabulary", "architectures of SpecForge", "no config", "bin of medusa", "eagle in safetensors"])
def test_formats_are_told_apart_without_help(tmp_path, case):
    if case == "vLLM names, whole vocabulary":
        heads.eagle3(tmp_path, at="layers.0.", reduced=False)
        assert sniff(tmp_path) == "eagle3"
    elif case == "architectures of SpecForge":
        heads.eagle3(tmp_path, config={"architectures": ["LlamaForCausalLM"]})
        assert sniff(tmp_path) == "eagle3"
    elif case == "no config":
        heads.medusa(tmp_path)
        (tmp_path / "config.json").unlink()
        assert sniff(tmp_path) == "medusa" and len(read(tmp_path).blocks) == 3
    elif case == "bin of medusa":
        tensors = heads.medusa(tmp_path)
        (tmp_path / "medusa_lm_head.safetensors").unlink()
        heads.write(tmp_path, None, tensors, "pytorch_model.bin")
        assert sniff(tmp_path) == "medusa" and len(read(tmp_path).blocks) == 3
    else:
        heads.eagle1(tmp_path, file="model.safetensors")
        assert sniff(tmp_path) == "eagle" and read(tmp_path).version == 1


def test_d2t_holds_offsets():
    """No ids: the target's token of row r is r + d2t[r]."""
    assert eagle._token_map(torch.tensor([0, 1, 3]), None, 6, "x").tolist() == [0, 2, 5]


def test_ids_instead_of_offsets_are_refused(tmp_path):
    heads.eagle3(tmp_path)
    change(tmp_path, {"d2t": torch.tensor(heads.PICKED)})
    refused(tmp_path, "d2t", "offsets")


def test_maps_that_disagree_are_refused(tmp_path):
    heads.eagle3(tmp_path)
    mask = torch.zeros(V, dtype=torch.bool)
    mask[:DRAFT] = True
    change(tmp_path, {"t2d": mask})
    refused(tmp_path, "d2t", "t2d")


@pytest.mark.parametrize("kind", ["eagle3", "speculators", "eagle", "medusa", "medusa-1.0", "medusa-vllm"])
def test_every_missing_misshapen_or_unexpected_tensor_is_named(tmp_path, kind):
    WRITERS[kind](tmp_path)
    target = tiny.config(vocab_size=V) if kind == "medusa-1.0" else CONFIG
    paths = files.weight_files(tmp_path)
    for path in paths:
        whole = load_file(path) if path.suffix == ".safetensors" else torch.load(path, weights_only=True)

        def put(tensors, path=path):
            save_file(tensors, path) if path.suffix == ".safetensors" else torch.save(tensors, path)

        own = {n: t for n, t in whole.items() if kind != "medusa-1.0" or n.startswith("medusa_head.")}
        for name in own:
            if name in ("embed_tokens.weight", "fc.bias") or (kind, name) == ("eagle", "fc.weight"):    # may be absent; or no EAGLE-1 without it
                continue
            put({n: t for n, t in whole.items() if n != name})
            with pytest.raises(UserError) as caught:
                read(tmp_path, target)
            # heads are counted from these keys: one less, and the rest of that head is what should not be there
            counted = re.fullmatch(r"(medusa_head\.|blocks\.)?2\.(layers\.)?0\.(linear\.)?weight", name)
            assert name in str(caught.value) or (counted and "unexpected" in str(caught.value)), (name, str(caught.value))
            put(whole | {name: torch.zeros(3, 5)})
            refused(tmp_path, target=target)
        if kind != "medusa-1.0":
            put(whole | {"strange.weight": torch.zeros(2)})
            refused(tmp_path, "strange.weight", target=target)
        put(whole)
    read(tmp_path, target)


def test_what_old_files_carry_is_let_through(tmp_path):
    heads.eagle3(tmp_path)
    change(tmp_path, {"midlayer.self_attn.rotary_emb.inv_freq": torch.zeros(4), "embed_tokens.weight": torch.zeros(V, H)})
    assert "embed_tokens.weight" in read(tmp_path).tensors


def test_shapes_are_compared_before_anything_is_read(tmp_path, monkeypatch):
    heads.eagle3(tmp_path)
    change(tmp_path, {"lm_head.weight": torch.zeros(DRAFT + 1, H)})
    asked = []
    real = tensor_files.read_file
    monkeypatch.setattr(tensor_files, "read_file", lambda file, device="cpu", only=None: asked.append(device) or real(file, device, only))
    refused(tmp_path, "lm_head.weight")
    assert set(asked) == {"meta"}


@pytest.mark.parametrize("kind", ["eagle3", "eagle", "speculators", "medusa", "medusa-vllm"])
def test_heads_of_another_target_are_refused(tmp_path, kind):
    WRITERS[kind](tmp_path)
    refused(tmp_path, "hidden size", "32", "48", target=tiny.config(vocab_size=V, num_layers=L, hidden_size=48))
    refused(tmp_path, "token ids", "64", "80", target=tiny.config(vocab_size=80, num_layers=L))


@pytest.mark.parametrize(("changes", "words"), [
    ({"num_hidden_layers": 2}, ["one layer"]), ({"draft_vocab_size": 0.5}, ["draft_vocab_size"]), ({"draft_vocab_size": V + 1}, ["draft_vocab_size"]),
    ({"eagle_config": {"use_aux_hidden_state": False}}, ["use_aux_hidden_state"]), ({"hidden_act": "gelu"}, ["gelu"]),
    ({"eagle_aux_hidden_state_layer_ids": [2, 4, 9]}, ["9", "8 layers"]), ({"eagle_aux_hidden_state_layer_ids": "2,4"}, ["layer numbers"]),
    ({"norm_before_fc": True, "fc_norm": True}, ["exclude"]), ({"fc_norm": True}, ["fc_norm.0.weight", "missing"]),
    ({"norm_before_fc": True}, ["input_norm.weight", "missing"]), ({"target_hidden_size": 16}, ["16", "32"])])
def test_eagle3_configs_are_refused_with_the_reason(tmp_path, changes, words):
    heads.eagle3(tmp_path, config=changes)
    refused(tmp_path, *words)


@pytest.mark.parametrize("kind", ["eagle3", "medusa-vllm"])
def test_what_holds_no_numbers_is_refused(tmp_path, kind):
    WRITERS[kind](tmp_path)
    name = {"eagle3": "fc.weight", "medusa-vllm": "lm_heads.0.weight"}[kind]
    weight = load_file(tmp_path / "model.safetensors")[name]
    change(tmp_path, {name: weight.index_fill(0, torch.tensor([1]), float("nan"))})
    refused(tmp_path, name, "no numbers")
    change(tmp_path, {name: weight.to(torch.int8)})
    refused(tmp_path, name, "int8")


def test_a_narrow_head_needs_its_own_embedding(tmp_path):
    heads.eagle3(tmp_path, h=24)
    refused(tmp_path, "embed_tokens.weight")


def test_aux_layers_and_their_numbering():
    """A config may count the inputs of layers or their outputs."""
    assert eagle.read_aux_layers(None, 8) == (2, 4, 5) and eagle.read_aux_layers(None, 30) == (2, 15, 27)
    assert eagle.read_aux_layers([2, 4, 5], 8) == (2, 4, 5)
    assert eagle.read_aux_layers([1, 3, 4], 8) == (2, 4, 5)              # the default as SGLang numbers it
    assert eagle.read_aux_layers([1, 3, 7], 8) == (1, 3, 7)


def test_legacy_norm_names(tmp_path):
    tensors = heads.eagle3_tensors(fc_norm=True)
    for i, name in enumerate(("low", "mid", "high")):
        tensors[f"aux_norm_{name}.weight"] = tensors.pop(f"fc_norm.{i}.weight")
    heads.write(tmp_path, heads.LAYER | {"draft_vocab_size": DRAFT}, tensors)
    got = read(tmp_path)
    assert got.fc_norm and (got.tensors["fc_norm.1.weight"] == tensors["aux_norm_mid.weight"].float()).all()


def test_speculators_without_the_residual_key_warns(tmp_path):
    heads.speculators(tmp_path, norm_before_residual=None)
    with pytest.warns(UserWarning, match="norm_before_residual"):
        assert not read(tmp_path).norm_before_residual


@pytest.mark.parametrize("kind", ["eagle", "peagle", "mtp", 3])
def test_other_speculators_are_refused_by_name(tmp_path, kind):
    heads.speculators(tmp_path, speculators_model_type=kind)
    with pytest.raises(UserError, match=str(kind)):
        sniff(tmp_path)


def test_speculators_without_a_layer_are_refused(tmp_path):
    heads.speculators(tmp_path, transformer_layer_config=None)
    refused(tmp_path, "transformer_layer_config")


class Hostile:
    def __reduce__(self):
        return os.system, (f"touch {Hostile.mark}",)


@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "pytorch_model.bin"])
def test_a_hostile_pickle_is_refused_unexecuted(tmp_path, name):
    Hostile.mark = tmp_path / "owned"
    torch.save({"0.0.linear.weight": Hostile()}, tmp_path / name)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="more than plain tensors"):
        sniff(tmp_path)
    assert not Hostile.mark.exists()


@pytest.mark.parametrize("content", [b"", b"\x00" * 40, b"{}"])
@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors", "model.safetensors"])
def test_files_that_hold_nothing_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError):
        sniff(tmp_path)


def test_a_list_instead_of_named_tensors_is_refused(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "medusa_lm_head.pt")
    with pytest.raises(UserError, match="named tensors"):
        sniff(tmp_path)


@pytest.mark.parametrize(("changes", "words"), [({"logit_scale": 0}, ["logit_scale"]), ({"truncated_vocab_size": 41}, ["lm_heads.0.weight"]),
                                                ({"head_accuracy": [[2.0]]}, ["head_accuracy"])])
def test_vllm_configs_are_refused_with_the_reason(tmp_path, changes, words):
    heads.medusa_vllm(tmp_path, **changes)
    refused(tmp_path, *words)


def test_token_maps_must_name_ids(tmp_path):
    heads.medusa_vllm(tmp_path)
    change(tmp_path, {"token_map": torch.full((DRAFT,), V)})
    refused(tmp_path, "token_map")


def test_a_shared_head_must_be_said(tmp_path):
    heads.medusa_vllm(tmp_path, shared=True)
    assert len(read(tmp_path).lm_heads) == 1
    change(tmp_path, original_lm_head=False)
    refused(tmp_path, "lm_heads.1.weight")


@pytest.mark.parametrize("kind", ["eagle3", "eagle", "speculators", "medusa", "medusa-vllm"])
def test_draft_of_any_format_lands_under_its_method(tmp_path, kind):
    from core.methods import registry
    target = tiny.checkpoint(tmp_path / "target", vocab_size=V, num_layers=L)
    WRITERS[kind](tmp_path / "head")
    pair = load.load(target=str(target), draft=str(tmp_path / "head"), dtype="float32")
    method = method_of(tmp_path / "head")
    assert list(pair.drafts) == [method]
    proposer = registry.get(method).proposer(pair)
    run, _ = tiny.decode(pair.target, proposer, max_new_tokens=8)
    assert run.new_tokens == tiny.greedy(pair.target.model, tiny.PROMPT, 8)
    assert re.fullmatch("[0-9a-f]{64}", pair.weights[f"{method}:head"])
    with pytest.raises(UserError, match="no target"):
        load.load(target=str(tmp_path / "head"), dtype="float32")


def test_a_medusa_1_folder_is_target_and_heads(tmp_path):
    from core.methods import registry
    pair = load.load(target=str(heads.medusa1(tmp_path)), dtype="float32")
    run, _ = tiny.decode(pair.target, registry.get("medusa").proposer(pair), max_new_tokens=8)
    assert run.new_tokens == tiny.greedy(pair.target.model, tiny.PROMPT, 8)


def test_a_pair_without_heads_says_so(tmp_path):
    from core.methods import registry
    pair = load.load(target=str(tiny.checkpoint(tmp_path, vocab_size=V)), dtype="float32")
    for method in ("eagle", "medusa"):
        with pytest.raises(UserError, match="--draft"):
            registry.get(method).proposer(pair)
