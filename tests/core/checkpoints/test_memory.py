"""Want of memory: recognised, refused before reading where it can be known, and always one sentence with what would fit."""
from __future__ import annotations

import pytest
import torch

from core.checkpoints import hf_model, load, memory, weights
from core.checkpoints.hf_model import HFTarget
from core.cli import main
from core.decoding.loop import Options
from core.errors import EnvironmentFailure
from core.gpu_check import shapes
from core.runs.runner import Request, Run
from tests.core import tiny

BF16, CPU, CUDA = torch.bfloat16, torch.device("cpu"), torch.device("cuda")
OUT = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.fixture
def small_gpu(monkeypatch):
    """A machine that claims a GPU with 8 GB free; tensors stay on the CPU."""
    monkeypatch.setattr(memory, "free_bytes", lambda device: 8 * 10 ** 9)


@pytest.mark.parametrize(("error", "is_"), [
    (OUT, True), (MemoryError(), True), (RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"), True),
    (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False), (ValueError("CUDA out of memory"), False)])
def test_what_is_want_of_memory(error, is_):
    assert memory.is_out(error) == is_


def test_sizes_are_those_of_the_weights_and_quantised_those_of_the_layers():
    c = shapes.LLAMA_8B
    of = memory.sizes(weights.plan(c), BF16)
    assert of[None] == 2 * shapes.parameters(c) and 9.0e9 < of["int8"] < 9.2e9 and 5.9e9 < of["int4"] < 6.2e9
    assert memory.cache_bytes(c, BF16) == 2 * 32 * 8 * 128 * 2
    model = tiny.decoder(0, BF16)
    assert memory.sizes(weights.plan(model.config), BF16)[None] == sum(p.nbytes for p in model.parameters())


def test_free_bytes_of_this_machine():
    free = memory.free_bytes(CPU)
    assert free is None or 0 < free < 1 << 50


def test_the_sentence_names_what_fits():
    of = memory.sizes(weights.plan(shapes.LLAMA_8B), BF16)
    said = memory.sentence("Llama", of, BF16, CUDA, 8 * 10 ** 9)
    assert "Llama needs 16.1 GB" in said and "8.0 GB free" in said and "--dtype int4 (6.0 GB)" in said and "3.7 billion" in said
    assert "--pair" in said and "qwen3-8b" not in said and "\n" not in said
    assert "--dtype int8 (9.1 GB)" in memory.sentence("Llama", of, BF16, CUDA, 12 * 10 ** 9)
    assert "--dtype" not in memory.sentence("Llama", of, torch.float32, CUDA, 12 * 10 ** 9)
    assert "smaller model" in memory.sentence("Llama", of, BF16, CPU, None)


def test_a_gpu_without_room_is_refused_before_reading_and_a_cpu_is_not(small_gpu):
    of = memory.sizes(weights.plan(shapes.LLAMA_8B), BF16)
    with pytest.raises(memory.TooLarge, match="int4"):
        memory.need("Llama", of, BF16, CUDA)
    memory.need("Llama", of, BF16, CUDA, "int4")
    memory.need("Llama", of, BF16, CPU)


def test_too_large_a_target_is_spread_where_accelerate_is_there(tmp_path, monkeypatch):
    folder = tiny.checkpoint(tmp_path / "target")
    asked = []
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1 << 20)
    monkeypatch.setattr(hf_model, "load", lambda *args: asked.append(args) or "spread")
    monkeypatch.setattr(hf_model, "can_spread", lambda: False)
    with pytest.raises(memory.TooLarge, match="target needs"):
        load.load_model(folder, torch.float32, CUDA)
    monkeypatch.setattr(hf_model, "can_spread", lambda: True)
    assert load.load_model(folder, torch.float32, CUDA) == "spread" and asked == [(folder, torch.float32, CUDA, None)]


def test_transformers_gets_a_device_map_and_the_record_its_placement(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    folder = tiny.checkpoint(tmp_path / "target")
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1 << 20)
    monkeypatch.setattr(hf_model, "can_spread", lambda: False)
    with pytest.raises(memory.TooLarge, match="accelerate"):
        hf_model.load(folder, torch.float32, CUDA)
    monkeypatch.setattr(hf_model, "can_spread", lambda: True)
    real, maps = transformers.AutoModelForCausalLM.from_pretrained, []

    def whole(*args, device_map=None, **more):
        maps.append(device_map)
        return real(*args, **more)

    def placed(*args, **more):
        model, info = whole(*args, **more)
        model.hf_device_map = {"model.embed_tokens": 0, "model.layers.0": 0, "model.layers.1": "cpu"}
        return model, info

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", placed)
    monkeypatch.setattr(hf_model.HFModel, "refuse_broken_rollback", lambda self: None)      # there is no such device here
    model = hf_model.load(folder, torch.float32, CUDA)
    assert maps == ["auto"] and model.notes == {"placement": {"0": 2, "cpu": 1}} and model.device == CUDA
    assert HFTarget(model).device == CUDA
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", whole)        # one device took all of it
    model = hf_model.load(folder, torch.float32, CUDA)
    assert maps == ["auto"] * 2 and model.notes == {"placement": {"cpu": 1}} and model.device == CPU


def test_a_load_that_runs_out_says_what_would_fit(tmp_path, monkeypatch):
    folder = tiny.checkpoint(tmp_path / "target")

    def full(*_):
        raise OUT
    monkeypatch.setattr(weights, "load_decoder", full)
    with pytest.raises(EnvironmentFailure, match=r"target needs .* weights in float32"):
        load.load(target=str(folder), dtype="float32", device="cpu")


def broken(error):
    def run(self, *_, **__):
        raise error
    return run


@pytest.mark.parametrize("error", [OUT, RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_run_that_runs_out_says_how_long_a_context_fits(error, tmp_path, monkeypatch):
    pair = load.load(target=str(tiny.checkpoint(tmp_path / "target")), dtype="float32", device="cpu")
    run = Run(pair, Request(prompt_ids=(1, 2), method="plain", options=Options(4)), {})
    monkeypatch.setattr(type(pair.target.model), "run", broken(error))
    with pytest.raises(EnvironmentFailure, match=r"enough for about \d+ tokens in all"):
        list(run.rounds())
    assert run.totals.stop == "cancelled" and run.totals.new_tokens == 0


def test_other_errors_stay_what_they_are(tmp_path, monkeypatch):
    pair = load.load(target=str(tiny.checkpoint(tmp_path / "target")), dtype="float32", device="cpu")
    run = Run(pair, Request(prompt_ids=(1, 2), method="plain", options=Options(4)), {})
    monkeypatch.setattr(type(pair.target.model), "run", broken(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        list(run.rounds())


@pytest.mark.parametrize("command", [["run", "--method", "lookup"], ["compare", "--methods", "lookup"], ["bench"], ["tune", "lookup"]])
def test_commands_end_in_one_line_and_exit_code_1(command, tmp_path, monkeypatch, capsys):
    folder = tiny.checkpoint(tmp_path / "target", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=512)
    from core.measuring import costs
    from core.models.decoder import Decoder
    monkeypatch.setattr(costs, "choose_threads", lambda target: 1)
    monkeypatch.setattr(Decoder, "run", broken(OUT))
    asked = ["--prompt", "hello", "--max-new-tokens", "4"] if command[0] in ("run", "compare") else []
    assert main.main([*command, "--target", str(folder), "--device", "cpu", "--dtype", "float32", *asked]) == 1
    said = capsys.readouterr().err
    assert "Not enough memory on cpu" in said and "Traceback" not in said


def test_the_page_learns_of_it_in_words(tmp_path, monkeypatch):
    from core.runs.engine import Engine, RunRequest
    folder = tiny.checkpoint(tmp_path / "target", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=512)
    pair = load.load(target=str(folder), dtype="float32", device="cpu")
    engine = Engine()
    monkeypatch.setattr(load, "load", lambda *_, **__: pair)
    engine._load()
    assert engine.state().phase == "ready" and not engine.state().hub
    monkeypatch.setattr(type(pair.target.model), "run", broken(OUT))
    with pytest.raises(EnvironmentFailure, match="Not enough memory on cpu"):
        list(engine.stream(RunRequest("hello", "lookup")))
    fresh = Engine()
    fresh._load()
    assert fresh.state().phase == "failed" and "not enough memory" in fresh.state().message


def test_a_draft_that_does_not_fit_is_said_too(tmp_path, monkeypatch):
    target, draft = tiny.checkpoint(tmp_path / "target"), tiny.checkpoint(tmp_path / "draft", 7)
    pair = load.load(target=str(target), draft=str(draft), dtype="float32", device="cpu")

    def full(*_):
        raise OUT
    monkeypatch.setattr(weights, "load_decoder", full)
    with pytest.raises(EnvironmentFailure, match="Not enough memory on cpu"):
        Run(pair, Request(prompt_ids=(1, 2), method="draft", options=Options(4)), {})
