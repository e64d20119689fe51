"""Our own draft folder: what is written is what is read, and whatever does not fit is refused by name."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from core.checkpoints import draft_format, weights
from core.errors import UserError
from core.models.config import DecoderConfig
from core.models.decoder import Decoder
from tests.core import tiny

IDS = torch.tensor([0, 2, 3, 7, 11, 19])


def parts(hidden: int, width: int = 32) -> tuple[DecoderConfig, dict[str, torch.Tensor], Decoder]:
    """A draft of `hidden` width for a target whose embedding is `width` wide, in values that bf16 holds exactly."""
    target = tiny.decoder(seed=1, dtype=tiny.F32, hidden_size=width)
    target.embed.data = target.embed.data.bfloat16().float()
    config = tiny.config(hidden_size=hidden)
    tensors = {n: t.bfloat16() for n, t in tiny.random_tensors(config, 2, len(IDS)).items() if n != draft_format.EMBED}
    tensors[draft_format.TOKEN_IDS] = IDS
    if hidden != width:
        tensors[draft_format.PROJECTION] = torch.randn(hidden, width, generator=torch.Generator().manual_seed(3)).bfloat16()
    return config, tensors, target


@pytest.mark.parametrize("hidden", [32, 16])
def test_round_trip(tmp_path: Path, hidden: int) -> None:
    """The loaded draft computes what a decoder made of the same numbers does, with and without a projection."""
    config, tensors, target = parts(hidden)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    assert weights.read_config(tmp_path)["model_type"] == draft_format.MODEL_TYPE
    draft, ids = draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")
    assert torch.equal(ids, IDS)
    embed = target.embed if hidden == 32 else target.embed @ tensors[draft_format.PROJECTION].float().T
    rest = {n: t.float() for n, t in tensors.items() if n not in (draft_format.TOKEN_IDS, draft_format.PROJECTION)}
    twin = weights.build(config, rest | {draft_format.EMBED: embed}, "twin", tiny.F32, "cpu", len(IDS))
    x = torch.tensor([[1, 5, 19, 0]])
    torch.testing.assert_close(draft(x), twin(x))
    assert draft(x).shape == (1, 4, len(IDS))


def test_a_target_in_another_dtype_is_the_same_target(tmp_path: Path) -> None:
    config, tensors, target = parts(32)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    for dtype in (torch.bfloat16, torch.float64):
        draft_format.load_draft(tmp_path, target.to(dtype), dtype, "cpu")


def test_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, tensors, target = parts(32)
    monkeypatch.setattr(draft_format, "SHARD_BYTES", 6000)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(tensors)
    draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")
    monkeypatch.setattr(draft_format, "SHARD_BYTES", 10 ** 9)       # a second save leaves no shard of the first behind
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    assert [p.name for p in tmp_path.glob("*.safetensors*")] == ["model.safetensors"]
    draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")


def test_another_target_is_refused(tmp_path: Path) -> None:
    config, tensors, target = parts(32)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    with pytest.raises(UserError, match="embedding of 20 x 32"):
        draft_format.load_draft(tmp_path, tiny.decoder(vocab_size=24, dtype=tiny.F32), tiny.F32, "cpu")
    with pytest.raises(UserError, match="another target"):
        draft_format.load_draft(tmp_path, tiny.decoder(seed=9, dtype=tiny.F32), tiny.F32, "cpu")


@pytest.mark.parametrize("change, words", [
    ({"model_type": "llama"}, "not a Specscope draft"), ({"format_version": 2}, "format version 2"), ({"output_size": None}, "output_size"),
    ({"output_size": 5}, "shape"), ({"output_size": 21}, "output_size"), ({"hidden_size": None}, "hidden_size|shape|needs")])
def test_a_config_that_does_not_fit_is_refused(tmp_path: Path, change: dict, words: str) -> None:
    config, tensors, target = parts(32)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    there = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in there.items() if v is not None}))
    with pytest.raises(UserError, match=words):
        draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")


@pytest.mark.parametrize("ids", [[2, 0, 3, 7, 11, 19], [0, 2, 3, 7, 11, 20], [-1, 2, 3, 7, 11, 19], [0, 2, 2, 7, 11, 19]])
def test_ids_must_ascend_within_the_vocabulary(tmp_path: Path, ids: list[int]) -> None:
    config, tensors, target = parts(32)
    draft_format.save_draft(tmp_path, config, tensors | {draft_format.TOKEN_IDS: torch.tensor(ids)}, target.embed)
    with pytest.raises(UserError, match="token_ids"):
        draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")


@pytest.mark.parametrize("name", ["lm_head.weight", draft_format.TOKEN_IDS, "model.layers.1.mlp.up_proj.weight"])
def test_a_missing_or_extra_tensor_is_refused(tmp_path: Path, name: str) -> None:
    from safetensors.torch import load_file, save_file
    config, tensors, target = parts(32)
    draft_format.save_draft(tmp_path, config, tensors, target.embed)
    file = tmp_path / "model.safetensors"
    there = load_file(file)
    save_file({n: t for n, t in there.items() if n != name}, file)
    with pytest.raises(UserError, match=f"{name}.*missing"):
        draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")
    save_file(there | {"misspelt": torch.zeros(1)}, file)
    with pytest.raises(UserError, match="misspelt"):
        draft_format.load_draft(tmp_path, target, tiny.F32, "cpu")
