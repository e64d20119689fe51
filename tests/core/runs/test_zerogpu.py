"""ZeroGPU with a stand-in for `spaces` that pickles all that goes in and out, as the platform's forked worker does."""
from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

from core import trace
from core.checkpoints import load, presets
from core.decoding.loop import Options
from core.errors import EnvironmentFailure, UserError
from core.runs import zerogpu
from core.runs.engine import RunRequest
from core.runs.runner import Request, Run
from tests.core import heads, tiny

ROOT = Path(__file__).resolve().parents[3]


class Quota(Exception):
    """Like gradio.Error, with its text in `message`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def fake_spaces(calls: list, refuse: Exception | None = None) -> types.ModuleType:
    def gpu(duration=60):
        def decorate(act):
            def call(*args):
                calls.append((act.__name__, duration(*args) if callable(duration) else duration))
                if refuse:
                    raise refuse
                sent = pickle.loads(pickle.dumps(args))
                if act.__name__ == "calibrate":
                    return pickle.loads(pickle.dumps(act(*sent)))
                return stream(act, sent)
            return call
        return decorate

    def stream(act, sent):
        for line in act(*sent):
            assert type(line) is str and line.endswith("\n") and line.count("\n") == 1
            yield pickle.loads(pickle.dumps(line))

    module = types.ModuleType("spaces")
    module.GPU = gpu
    return module


@pytest.fixture
def place(tmp_path, monkeypatch):
    """place(refuse=None) -> (core.runs.zerogpu as on a ZeroGPU Space, the list of decorated calls). The target is a tiny one without heads."""
    tiny.checkpoint(tmp_path / presets.get("smollm2-hub").target, tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=256)
    monkeypatch.setattr(load, "resolve", lambda name, report, revision=None: tmp_path / name)
    monkeypatch.setattr(load, "ASSETS", tmp_path / "assets")

    def make(refuse=None):
        calls = []
        monkeypatch.setitem(sys.modules, "spaces", fake_spaces(calls, refuse))
        monkeypatch.setenv("SPACES_ZERO_GPU", "true")
        module = importlib.reload(zerogpu)
        module.DEVICE = "cpu"
        return module, calls

    yield make
    monkeypatch.undo()
    importlib.reload(zerogpu)


def test_elsewhere_it_is_the_usual_engine():
    assert not zerogpu.ON and type(zerogpu.make_engine()).__name__ == "Engine"
    assert zerogpu.make_engine().state().phase == "idle"


def test_loaded_when_made_and_marked_as_weights_of_the_hub(place):
    module, calls = place()
    engine = module.make_engine()
    assert engine.state().phase == "ready" and engine.state().hub and calls == []
    assert {m.name for m in engine.methods()} == {"lookup", "suffix", "early-exit", "plain"}
    assert engine._pair.target.dtype == torch.bfloat16
    assert engine._pair.target.graphs.label.startswith("off: ZeroGPU")
    engine.start()
    assert engine._thread is None


def test_one_decorated_call_a_run_that_gives_the_whole_trace(place):
    module, calls = place()
    engine = module.make_engine()
    lines = list(engine.stream(RunRequest("hello hello", "lookup", max_new_tokens=9)))
    assert [name for name, _ in calls] == ["decode"]
    got = trace.parse("".join(lines))
    assert len(got.emitted_ids) == 9 and got.totals.new_tokens == 9 and len(got.plain["elapsed_s"]) == 9
    assert got.run["pair"] == "smollm2-hub" and "Q4_1" in got.run["note"] and got.run["target"].endswith("SmolLM2-135M-Instruct")
    assert engine._costs["lookup"] == {k: v for k, v in got.run["costs"].items() if k != "acceptance"}
    again = trace.parse("".join(engine.stream(RunRequest("hello hello", "lookup", max_new_tokens=9, baseline=False))))
    assert again.run["costs"] == got.run["costs"] and again.emitted_ids == got.emitted_ids and len(calls) == 2


def test_the_time_asked_for_follows_the_request():
    plain, both = (zerogpu.duration(RunRequest("x", m, max_new_tokens=96)) for m in ("plain", "draft"))
    assert 10 < plain < both <= 60 and zerogpu.duration(RunRequest("x", max_new_tokens=8)) < both
    assert zerogpu.duration(RunRequest("x", max_new_tokens=10 ** 6)) == 60
    assert zerogpu.duration(RunRequest("x", baseline=False), {}) == zerogpu.duration(RunRequest("x", "plain"))


def test_errors_cross_as_lines_and_are_raised_again(place):
    module, _ = place()
    engine = module.make_engine()
    with pytest.raises(UserError, match="no method"):
        list(engine.stream(RunRequest("hello", "nope")))
    with pytest.raises(UserError, match="--ngram-min") as refused:
        list(engine.stream(RunRequest("hello", "lookup", settings={"ngram_min": 9})))
    assert refused.value.reason == "more_than" and refused.value.values["low"] == 9
    with pytest.raises(UserError, match="temperature"):
        list(engine.stream(RunRequest("hello", "lookup", temperature=-1.0)))
    assert not engine._busy.locked()
    assert list(engine.stream(RunRequest("hello", "lookup", max_new_tokens=3)))


def test_the_platforms_refusal_keeps_its_text(place):
    module, _ = place(Quota("No GPU is <b>free</b> now."))
    engine = module.make_engine()
    with pytest.raises(EnvironmentFailure, match="No GPU is free now"):
        list(engine.stream(RunRequest("hello", "lookup")))
    with pytest.raises(EnvironmentFailure, match="No GPU is free now"):
        engine.calibration()
    assert not engine._busy.locked()


def test_a_bug_stays_a_bug(place):
    module, _ = place(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        list(module.make_engine().stream(RunRequest("hello", "lookup")))


def test_leaving_in_the_middle_frees_the_engine(place):
    module, _ = place()
    engine = module.make_engine()
    running = engine.stream(RunRequest("hello", "lookup", max_new_tokens=100))
    next(running), next(running)
    running.close()
    assert not engine._busy.locked()


def test_calibration_is_a_decorated_call_of_its_own(place):
    module, calls = place()
    engine = module.make_engine()
    once = engine.calibration()
    assert [name for name, _ in calls] == ["calibrate"] and set(once["draft_step_s"]) == {m.name for m in engine.methods()}
    assert engine.calibration() is once


def test_a_failed_load_leaves_the_page_its_recordings(place, monkeypatch):
    module, _ = place()

    def gone(*_, **__):
        raise EnvironmentFailure("The Hub does not answer.")
    monkeypatch.setattr(load, "resolve", gone)
    engine = module.make_engine()
    assert engine.state().phase == "failed" and "does not answer" in engine.state().message
    with pytest.raises(EnvironmentFailure):
        next(engine.stream(RunRequest("hello")))


def test_heads_are_built_before_launch_and_move_with_the_target(place, tmp_path):
    target = tmp_path / presets.get("smollm2-hub").target
    for file in target.iterdir():
        file.unlink()
    tiny.checkpoint(target, vocab_size=heads.V, num_layers=heads.L, max_positions=128)
    heads.eagle3(tmp_path / "assets" / "smollm2" / "eagle")
    heads.medusa(tmp_path / "assets" / "smollm2" / "medusa")
    module, _ = place()
    pair = module.make_engine()._pair
    assert set(pair._loaded) == {"eagle", "medusa"}
    for part in (pair.target.model, *pair._loaded.values()):
        assert {p.dtype for p in part.parameters()} == {torch.bfloat16}
    for method in ("eagle", "medusa", "lookup+eagle"):
        run = Run(pair, Request(prompt_ids=(1, 2, 3), method=method, options=Options(8)), {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": 0.1})
        assert len(tiny.emitted(list(run.rounds()))) == 8


PAGE = """
import importlib, importlib.machinery, sys, types
decorated = []

class Spaces:
    def create_module(self, spec):
        module = types.ModuleType("spaces")
        module.GPU = lambda duration=60: lambda act: decorated.append(act.__name__) or act
        return module
    def exec_module(self, module):
        assert not {"torch", "gradio"} & set(sys.modules), "imported before spaces"
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "spaces" else None

sys.meta_path.insert(0, Spaces())
importlib.import_module(sys.argv[1])
print("spaces" in sys.modules, decorated)
"""


@pytest.mark.parametrize("module", ["app", "spec_ui.serve"])
@pytest.mark.parametrize(("value", "want"), [("true", "True ['decode', 'calibrate']"), ("", "False []")])
def test_the_page_imports_spaces_first_where_it_is_a_zerogpu_space_and_never_elsewhere(value, want, module):
    environment = {**os.environ, "SPACES_ZERO_GPU": value, "GRADIO_ANALYTICS_ENABLED": "False"}
    done = subprocess.run([sys.executable, "-c", PAGE, module], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.strip() == want, done.stderr
