"""The GPU check on a CPU with tiny shapes: all of it but CUDA's events, warnings and memory figures."""
from __future__ import annotations

import json
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from core.cli import main
from core.decoding.draft_length import pass_seconds
from core.gpu_check import identity, measure, run, shapes, speed
from core.measuring import costs, theory
from core.methods import registry
from core.models import graphs, host_copy
from core.models.decoder import Decoder

CPU = torch.device("cpu")
TINY = shapes.Shape("tiny", replace(shapes.SMALL.target, vocab_size=64, hidden_size=32, intermediate_size=48), "a draft",
                    replace(shapes.SMALL.target, vocab_size=48, hidden_size=16, intermediate_size=24, num_layers=1, num_heads=2, num_kv_heads=1))


@pytest.mark.parametrize(("config", "millions"), [(shapes.LLAMA_8B, 8030), (shapes.LLAMA_1B, 1236), (shapes.SMOLLM2_135M, 134.5)])
def test_published_shapes_have_their_published_sizes(config, millions):
    assert shapes.parameters(config) / 1e6 == pytest.approx(millions, rel=1e-3)


def test_computed_sizes_are_those_of_the_built_modules():
    c = replace(TINY.target, tied_head=True)
    for config in (TINY.target, c):
        model = shapes.random_decoder(config, torch.float32, CPU)
        assert sum(p.numel() for p in model.parameters()) == shapes.parameters(config)
        assert sum(p.numel() for p in shapes.random_eagle(model).parameters()) == shapes.eagle_parameters(config) + model.embed.numel()
        assert sum(p.numel() for p in shapes.random_medusa(model).parameters()) == shapes.medusa_parameters(config)
    assert shapes.read_bytes(c, torch.bfloat16) == 2 * shapes.parameters(c)
    assert shapes.read_bytes(TINY.target, torch.float32) == 4 * (shapes.parameters(TINY.target) - 64 * 32)


def test_every_method_and_tree_gives_plain_tokens(monkeypatch):
    monkeypatch.setattr(identity, "NEW_TOKENS", 12)
    found, late = identity.check(CPU, 1e6)
    assert not late and {r["run"].split()[0].rstrip(",") for r in found} == set(registry.METHODS)
    assert len(found) == len(measure.MODES) * (len(list(identity.variants())) + 1)
    assert all(r["equal"] for r in found) and all(r["syncs_elsewhere"] is None for r in found)
    assert all(r["waits_per_round"] == 1 for r in found)
    last = [r for r in found if r["run"] == "draft, the target itself"]
    assert last and all(r["accepted"] == r["drafted"] > 0 for r in last)


def test_a_wrong_token_is_reported_and_fails_the_check(monkeypatch):
    monkeypatch.setattr(identity, "NEW_TOKENS", 6)
    monkeypatch.setattr(identity, "variants", lambda: iter([("draft", registry.get("draft"), {}, {})]))
    right = measure.decode

    def wrong(pair, method, *rest, **more):
        out = right(pair, method, *rest, **more)
        out.tokens[-1] += method.drafts
        return out

    monkeypatch.setattr(measure, "decode", wrong)
    found, _ = identity.check(CPU, 1e6)
    assert not any(r["equal"] for r in found) and not run.passed({"identity": found})


@pytest.mark.parametrize(("changes", "good"), [({}, True), ({"syncs_elsewhere": {}}, True), ({"syncs_elsewhere": {"core/loop.py:7": 2}}, False),
                                               ({"waits_per_round": 1.1}, False), ({"equal": False}, False)])
def test_what_passes_the_check(changes, good):
    one = {"equal": True, "waits_per_round": 1.0, "syncs_elsewhere": None}
    assert run.passed({"identity": [one, one | changes]}) == good


def test_the_record_its_table_and_json(monkeypatch):
    monkeypatch.setattr(identity, "NEW_TOKENS", 6)
    monkeypatch.setattr(speed, "NEW_TOKENS", 24)
    monkeypatch.setattr(speed, "REPEATS", 2)
    report = []
    result = run.check(CPU, 1e6, [TINY], torch.float32, report.append, 1 << 16)
    again = json.loads(json.dumps(result))
    assert run.passed(result) and not result["skipped"] and result["bandwidth_bytes_per_s"] > 0
    one = result["shapes"][0]
    assert set(one["passes"]["eager"]["ms"]) == set(map(str, speed.LENGTHS)) and one["weights_bytes"] == 4 * shapes.parameters(TINY.target)
    named = {m["method"]: m for m in one["methods"]}
    assert set(named) == {"plain", *speed.METHODS} and named["draft"]["drafted_a_round"] == 4
    assert set(named["draft"]["projection"]) == {"0.5", "0.6", "0.7", "0.8", "0.9"} and "projection" not in named["plain"]
    text = run.table(again)
    assert "not measured" in text and "tiny, float32" in text and "skipped" not in text
    assert any("tiny" in m for m in report)


def test_the_table_says_which_aims_were_met():
    methods_ = [{"graphs": True, "overhead_ms": 0.2}, {"graphs": False, "overhead_ms": 9.0}, {"graphs": True, "overhead_ms": None}]
    shape = {"passes": {"graphs": {"share_of_bandwidth": 0.8}}, "methods": methods_}
    said = run.aims(shape)[0]
    assert "pass 1 within 1.3x of weights/bandwidth: 1.25x, met" in said and "at most 0.3 ms a round outside them: 0.20 ms, met" in said
    shape["passes"]["graphs"]["share_of_bandwidth"], methods_[0]["overhead_ms"] = 0.7, 0.5
    assert run.aims(shape)[0].count("missed") == 2 and run.aims({"passes": {"eager": {}}, "methods": methods_}) == []


def test_what_does_not_fit_or_comes_too_late_is_listed():
    need = shapes.parameters(TINY.target) * 4 + speed.SPARE
    record, skipped = speed.check(TINY, torch.float32, CPU, 1e9, need - 1, 60, lambda m: None)
    assert record is None and len(skipped) == 1 and "tiny: needs 2.1 GB" in skipped[0]
    room = need + 4 * shapes.parameters(TINY.draft)
    record, skipped = speed.check(TINY, torch.float32, CPU, 1e9, room, -1, lambda m: None)
    assert record["methods"] == [] and skipped[0].startswith("tiny eagle: needs") and "the time was over" in skipped[-1]
    late = run.check(CPU, 0, [TINY], torch.float32, copied=1 << 10)
    assert not late["shapes"] and not late["identity"] and "tiny: the time was over" in run.table(late)


def test_memory_that_gives_out_skips_the_shape(monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")
    monkeypatch.setattr(identity, "check", lambda *_: ([], []))
    monkeypatch.setattr(shapes, "random_decoder", full)
    assert "memory did not suffice" in run.check(CPU, 1e6, [TINY], torch.float32, copied=1 << 10)["skipped"][0]


def test_projection_is_the_closed_form_of_the_measured_costs():
    passes = {1: 0.010, 2: 0.011, 4: 0.012, 8: 0.020}
    assert pass_seconds(passes, 3) == pytest.approx(0.0115) and pass_seconds(passes, 12) == pytest.approx(0.028)
    got = speed.project(0.001, passes, 0.002, 0.013)["0.8"]
    gains = {k: theory.expected_tokens(0.8, k) * 0.013 / (k * 0.001 + pass_seconds(passes, k + 1) + 0.002) for k in range(1, speed.LONGEST + 1)}
    best = max(gains, key=gains.get)
    assert got == {"k": best, "speedup": pytest.approx(gains[best])}
    assert speed.project(1.0, passes, 0.0, 0.01)["0.5"] == {"k": 0, "speedup": 1.0}        # a draft that costs more than it saves
    assert max(x["k"] for x in speed.project(0.0, passes, 0.0, 0.01, longest=3).values()) == 3


def test_waits_are_counted_and_synchronisations_elsewhere_named():
    pair = shapes.target_pair(TINY, torch.float32, CPU)
    with measure.watched(CPU) as watch:
        run_ = measure.decode(pair, registry.get("lookup"), {}, measure.MODES[0], [1, 2, 1, 2], 8)
    assert watch.waits == len(run_.rounds) > 0 and watch.elsewhere is None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for name, line in ((host_copy.__file__, 3), ("/x/core/decoding/loop.py", 7), ("/x/core/decoding/loop.py", 7)):
            warnings.warn_explicit(measure.SYNC, UserWarning, name, line)
        warnings.warn("something else", stacklevel=1)
    assert measure._places(seen) == {"decoding/loop.py:7": 2}


class Event:
    """A CUDA event whose time is the number of calls so far."""
    now = 0

    def __init__(self, enable_timing=False):
        assert enable_timing

    def record(self):
        Event.now += 1
        self.at = Event.now

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return float(other.at - self.at)


def test_what_only_a_gpu_does_with_a_stand_in_for_cuda(monkeypatch):
    """The names and order of the CUDA-only calls. What they measure can only be tested on a GPU."""
    calls = []
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: calls.append("synchronize"))
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", calls.append)
    cuda, replayed = torch.device("cuda"), []
    assert measure.seconds(lambda: None, cuda, 3) == 1e-3 and calls == ["synchronize"] * 3

    class Graph:
        def replay(self):
            replayed.append(self)

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    original = Graph.replay
    with measure.replays(cuda) as events:
        Graph().replay()
        Graph().replay()
    assert len(replayed) == len(events) == 2 and all(a.elapsed_time(b) == 1 for a, b in events) and Graph.replay is original
    done, order = [], []

    class Stream:
        def wait_stream(self, other):
            order.append("wait")

    def noted(name):
        return lambda *_, **__: order.append(name) or nullcontext()

    for name, made in (("Stream", Stream), ("current_stream", Stream), ("stream", noted("side")), ("graph", noted("capture"))):
        monkeypatch.setattr(torch.cuda, name, made)
    monkeypatch.setattr(torch.cuda, "device", noted("device"))
    function = graphs._CudaGraphCall(lambda cache, x: (done.append(1), x), None, 0, (torch.zeros(1),), None)
    function.replay((torch.ones(1),))
    assert order == ["device", "wait", "side", "wait", "capture"] and len(done) == 2 and len(replayed) == 3 and bool(function.inputs[0] == 1)
    with measure.watched(cuda) as watch:
        warnings.warn(measure.SYNC, stacklevel=1)
    assert calls[3:] == ["warn", "default"] and watch.waits == 0
    assert list(watch.elsewhere.values()) == [1] and next(iter(watch.elsewhere)).startswith("gpu_check/test_gpu_check.py:")


def test_random_models_run_as_any_other():
    model = shapes.random_decoder(TINY.target, torch.float64, CPU, 3)
    again = shapes.random_decoder(TINY.target, torch.float64, CPU, 3)
    assert isinstance(model, Decoder) and torch.equal(model.layers[0].qkv.weight, again.layers[0].qkv.weight)
    logits = model(torch.tensor([[1, 2, 3]]))[0, -1]
    assert bool(logits.isfinite().all()) and 0.5 < float(logits.std()) < 8
    assert not torch.equal(shapes.disturbed(model).head.weight, model.head.weight)
    assert costs.passes(shapes.target_pair(TINY, torch.float32, CPU).target, (1, 2), 1).keys() == {1, 2}


BLOCKED = """
import sys
class Absent:
    names = {"transformers", "gguf", "safetensors", "tokenizers", "gradio", "huggingface_hub", "tqdm", "jinja2", "filelock", "plotly", "numpy",
             "jsonschema", "tomli", "scipy", "pytest"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Absent())
"""


def test_torch_alone_suffices():
    code = BLOCKED + """
import torch
from core.gpu_check import identity, run
identity.NEW_TOKENS = 4
result = run.check(torch.device("cpu"), 1e6, [], torch.float32, copied=1 << 10)
print(run.table(result))
sys.exit(0 if run.passed(result) and result["identity"] else 3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "runs give plain decoding's tokens" in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_cuda_one_line_and_exit_code_2(capsys):
    code = BLOCKED + "from core.cli.main import main\nsys.exit(main(['check', 'gpu']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and "no CUDA GPU" in done.stderr
    assert main.main(["check", "gpu", "--json", "x/y/z.json"]) == 2 and "CUDA" in capsys.readouterr().err


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
def test_the_command_prints_writes_and_says_by_its_code(right, code, monkeypatch, capsys, tmp_path):
    real, given = run.check, []

    def on_cpu(device, seconds, report):
        given.append((device.type, seconds))
        out = real(CPU, 1e6, [], torch.float32, report, 1 << 10)
        out["identity"][0]["equal"] &= right
        return out

    monkeypatch.setattr(identity, "NEW_TOKENS", 3)
    monkeypatch.setattr(run, "check", on_cpu)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    file = tmp_path / "gpu.json"
    assert main.main(["check", "gpu", "--seconds", "9", "--json", str(file)]) == code
    said = capsys.readouterr()
    assert given == [("cuda", 9)] and "identity, float64" in said.out and ("NO" in said.out) != right and "bandwidth" in said.err
    assert json.loads(file.read_text())["version"] == 1
    assert main.main(["check", "gpu", "--json", str(tmp_path / "no" / "x.json")]) == 2
