"""What the tests of both quantising packages ask of a target that one of them quantised."""
from __future__ import annotations

import torch

from core.checkpoints import load, quantize
from core.decoding.loop import Options
from core.models.linear import Linear
from core.runs.runner import Request, Run
from tests.core import tiny

SHAPE = {"vocab_size": 64, "max_positions": 128, "hidden_size": 64, "intermediate_size": 128, "head_dim": 16}


def only(package, monkeypatch):
    """As if the other one were not installed."""
    there = quantize.util.find_spec
    monkeypatch.setattr(quantize.util, "find_spec",
                        lambda name: None if name in {"torchao", "bitsandbytes"} - {package} else there(name))


def check(package, kind, dtype, far, tmp_path, monkeypatch):
    only(package, monkeypatch)
    target = tiny.checkpoint(tmp_path / "target", **SHAPE)
    draft = tiny.checkpoint(tmp_path / "draft", 7, **SHAPE)
    pair = load.load(target=str(target), draft=str(draft), dtype=dtype, device="cpu", quantize_to=kind)
    model, whole = pair.target.model, load.weights.load_decoder(target, torch.float32, torch.device("cpu"))
    assert isinstance(model.head, Linear) and type(model.head.weight) is torch.nn.Parameter
    assert type(model.layers[1].down.weight) is not torch.nn.Parameter
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    with torch.inference_mode():
        got, want = model(ids).float(), whole(ids)
        alone = model(ids[:, :1]).float()
    assert 0 < float((got - want).abs().max() / want.abs().max()) < far
    assert float((got[:, :1] - alone).abs().max() / want.abs().max()) < 0.05      # a pass over several rounds as a pass over one
    tokens = {}
    for method in ("plain", "draft", "lookup"):
        run = Run(pair, Request(prompt_ids=(1, 2, 3), method=method, options=Options(12)))
        tokens[method] = tiny.emitted(list(run.rounds()))
        assert len(tokens[method]) == 12 and run.facts["quantize"].startswith(f"{kind}, {package} ")
    return tokens


def check_hf(package, kind, tmp_path, monkeypatch):
    from transformers import OPTConfig, OPTForCausalLM
    only(package, monkeypatch)
    torch.manual_seed(0)
    OPTForCausalLM(OPTConfig(vocab_size=64, hidden_size=64, ffn_dim=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
                             word_embed_proj_dim=64)).save_pretrained(tmp_path / "opt")
    pair = load.load(target=str(tmp_path / "opt"), dtype="bfloat16", device="cpu", quantize_to=kind)
    run = Run(pair, Request(prompt_ids=(1, 2, 3), method="lookup", options=Options(8)))
    assert len(tiny.emitted(list(run.rounds()))) == 8 and run.facts["quantize"].startswith(f"{kind}, {package} ")
