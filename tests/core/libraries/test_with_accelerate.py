"""The real accelerate: a target spread over main memory and disk runs as a whole one does. A GPU among them needs a GPU."""
from __future__ import annotations

import pytest
import torch
import transformers

from core.checkpoints import hf_model, load, memory
from core.decoding.loop import Options
from core.runs.runner import Request, Run
from tests.core import tiny

F32, CPU = torch.float32, torch.device("cpu")
PLACES = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk", "model.norm": "disk", "model.rotary_emb": "cpu",
          "lm_head": "cpu"}


@pytest.fixture
def spread(tmp_path, monkeypatch):
    """spread(**how): the pair of a target that is said to be too large, placed so; and its folder."""
    folder = tiny.checkpoint(tmp_path / "target", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=128)
    real = transformers.AutoModelForCausalLM.from_pretrained

    def need(*_):
        raise memory.TooLarge("It does not fit.")
    monkeypatch.setattr(memory, "need", need)

    def make(**how):
        monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda *args, **more: real(*args, **more | how))
        return load.load(target=str(folder), dtype="float32", device="cpu"), folder
    return make


@pytest.mark.parametrize("how", [{"device_map": PLACES}, {"max_memory": {"cpu": 100_000}}, {"max_memory": {"cpu": 20_000}}])
@pytest.mark.parametrize("method", ["plain", "lookup", "suffix"])
def test_spread_over_memory_and_disk_gives_the_same_tokens(spread, how, method):
    pair, folder = spread(**how)
    assert isinstance(pair.target, hf_model.HFTarget) and pair.target.device == CPU
    assert any(p.device.type == "meta" for p in pair.target.model.model.parameters())       # really not in memory
    run = Run(pair, Request(prompt_ids=(3, 1, 4, 3, 1), method=method, options=Options(12)))
    assert tiny.emitted(list(run.rounds())) == tiny.greedy(load.weights.load_decoder(folder, F32, CPU), [3, 1, 4, 3, 1], 12)
    assert run.facts["placement"] == pair.notes["placement"] and run.facts["placement"]["disk"] >= 1


def test_one_place_that_takes_all_is_said_too(spread):
    pair, _ = spread()
    assert pair.notes == {"placement": {"cpu": 1}} and pair.target.device == CPU
