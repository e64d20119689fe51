"""Numbers and switches in the configs of draft heads: computed rightly or refused in a sentence, whatever they are."""
from __future__ import annotations

import json

import pytest
import torch

from core.checkpoints import draft_format, load
from core.checkpoints.formats import eagle, medusa, sniff
from core.errors import UserError
from core.methods.medusa import Guesses, MedusaHeads
from core.methods.static_tree import StaticTree
from tests.core import heads, tiny
from tests.core.heads import L, V

TARGET = tiny.config(vocab_size=V, num_layers=L)


@pytest.mark.parametrize("value", [0.0, 1e-320, 5e-46, 1e300, 10 ** 400, "small"], ids=lambda v: str(v)[:8])
@pytest.mark.parametrize("key", ["rms_norm_eps", "rope_theta"])
@pytest.mark.parametrize("kind", ["eagle", "eagle3", "speculators"])
def test_numbers_of_an_eagle_head_that_float32_does_not_hold_are_refused(kind, key, value, tmp_path):
    if kind == "speculators":
        heads.speculators(tmp_path, transformer_layer_config=heads.LAYER | {key: value})
    else:
        (heads.eagle1 if kind == "eagle" else heads.eagle3)(tmp_path)
        put(tmp_path, **{key: value})
    with pytest.raises(UserError, match=f"{key}.*float"):
        eagle.read(tmp_path, sniff(tmp_path), TARGET)


def put(folder, **config) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | config))


@pytest.mark.parametrize("name", ["norm_before_residual", "norm_before_fc", "fc_norm", "norm_output"])
@pytest.mark.parametrize("inside", [False, True], ids=["", "in eagle_config"])
def test_switches_of_an_eagle_head_are_true_or_false(name, inside, tmp_path):
    """As text, "false" would be on."""
    heads.eagle3(tmp_path)
    put(tmp_path, **({"eagle_config": {name: "false"}} if inside else {name: "false"}))
    with pytest.raises(UserError, match=f"{name}.*true or false"):
        eagle.read(tmp_path, "eagle3", TARGET)


@pytest.mark.parametrize(("key", "value"), [("eagle_config", [1]), ("use_aux_hidden_state", 0)])
def test_strange_eagle_configs(key, value, tmp_path):
    heads.eagle3(tmp_path)
    put(tmp_path, **{key: value})
    with pytest.raises(UserError, match=key):
        eagle.read(tmp_path, "eagle3", TARGET)


def test_what_a_copied_config_says_of_the_targets_layers_is_not_read(tmp_path):
    heads.eagle3(tmp_path)
    want = eagle.read(tmp_path, "eagle3", TARGET).config
    put(tmp_path, model_type="qwen2", layer_types=["sliding_attention", "full_attention"] * 4, use_sliding_window=True, sliding_window=8)
    assert eagle.read(tmp_path, "eagle3", TARGET).config == want


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("scale", [1e-320, 5e-46, 1e-8, 0.5, 1e5, 1e300])
def test_a_logit_scale_moves_no_rank(scale, dtype, tmp_path):
    """Also one that would make all logits 0 or infinite in the target's dtype."""
    target = heads.target(dtype)
    heads.medusa_vllm(tmp_path / "plain")
    heads.medusa_vllm(tmp_path / "scaled", logit_scale=scale)
    state = heads.noise(3)(heads.H).to(dtype)
    sampling_ctx = tiny_context(target)
    heads_of = {name: MedusaHeads(medusa.read(tmp_path / name, "medusa-vllm", target.config), target) for name in ("plain", "scaled")}
    drafted = [Guesses(heads_of[name], sampling_ctx, 3, tree)(None, state, None, None)[0]
               for name in ("plain", "scaled") for tree in (None, StaticTree.full((3, 2)))]
    assert torch.equal(drafted[0], drafted[2]) and torch.equal(drafted[1], drafted[3]) and len(set(drafted[1].tolist())) > 2


def tiny_context(target):
    from core.methods.base import SamplingContext
    from core.sampling.probs import Sampling
    return SamplingContext(Sampling(), target.config.vocab_size, torch.float32, False)


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), "1", True], ids=str)
def test_a_logit_scale_that_is_none_is_refused(scale, tmp_path):
    heads.medusa_vllm(tmp_path, logit_scale=scale)
    with pytest.raises(UserError, match="logit_scale"):
        medusa.read(tmp_path, "medusa-vllm", TARGET)


@pytest.mark.parametrize("value", [0.0, 1e-320, 1e300])
@pytest.mark.parametrize("key", ["rms_norm_eps", "rope_theta"])
def test_numbers_of_our_own_draft_format(key, value, tmp_path):
    target = tiny.decoder(vocab_size=V)
    config = tiny.config(vocab_size=V, num_layers=1)
    tensors = tiny.random_tensors(config, 0, 6)
    del tensors[draft_format.EMBED]
    draft_format.save_draft(tmp_path, config, tensors | {draft_format.TOKEN_IDS: torch.arange(6)}, target.embed)
    draft_format.load_draft(tmp_path, target, torch.float32, "cpu")
    put(tmp_path, **{key: value})
    with pytest.raises(UserError, match=f"{key}.*float32"):
        draft_format.load_draft(tmp_path, target, torch.float32, "cpu")


def test_a_target_of_whole_numbers_is_refused(tmp_path):
    """Quantised weights under the names of plain ones: their scales are missing."""
    from safetensors.torch import load_file, save_file
    folder = tiny.checkpoint(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.up_proj.weight"
    save_file(tensors | {name: (tensors[name] * 50).to(torch.int8)}, folder / "model.safetensors")
    with pytest.raises(UserError, match=rf"{name}.*int8.*quantised"):
        load.load(target=str(folder), dtype="float32", device="cpu")
