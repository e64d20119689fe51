"""The server's side of the tabs that explain: the list of recordings, and measuring this machine once for everybody."""

import json
import threading

import gradio as gr

from core.errors import EnvironmentFailure
from spec_ui.server import run_list
from spec_ui.tabs import methods
from spec_ui.tabs.faster import Measured
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import FakeEngine

CALIBRATION = {"pass_s": {"1": 0.03, "2": 0.031, "4": 0.033, "8": 0.036, "16": 0.05, "32": 0.09}, "weights_bytes": 270_000_000,
               "memory_bytes_per_s": 1.2e10, "threads": 1, "device": "cpu", "draft_step_s": {"draft": 0.003, "plain": None}}  # fmt: skip


class Calibrated(FakeEngine):
    """The fake engine with a calibration; `wrong` is raised instead."""

    def __init__(self, wrong: Exception | None = None, **kwargs):
        super().__init__(**kwargs)
        self.wrong, self.asked = wrong, []

    def calibration(self, redo: bool = False) -> dict:
        self.asked.append(redo)
        if self.wrong:
            raise self.wrong
        return CALIBRATION | {"pass_s": {k: s * (1.5 if redo else 1) for k, s in CALIBRATION["pass_s"].items()}}


def test_recordings_are_listed_with_what_they_came_to(tmp_path):
    trace = fake_trace.make()
    (tmp_path / "chat-draft.json").write_text(json.dumps(trace), encoding="utf-8")
    (tmp_path / "story-draft.ndjson").write_text("".join(fake_trace.lines(trace)), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("private", encoding="utf-8")
    chat, story = run_list.load(tmp_path)
    assert (chat["name"], chat["example"], chat["method"], story["example"]) == ("chat-draft", "chat", "draft", "story")
    assert chat["tested"] == trace["totals"]["tested"] and chat["tokens_per_round"] == trace["totals"]["tokens_per_round"]
    assert chat["ratio"] == story["ratio"] > 0 and chat["cost"] > 1
    assert [p.name for p in run_list.files(tmp_path)] == ["chat-draft.json", "story-draft.ndjson"]


def test_a_recording_without_plain_or_with_odd_facts_does_no_harm(tmp_path):
    trace = fake_trace.make(limit=8)
    (tmp_path / "a-draft.json").write_text(json.dumps(trace | {"plain": None}), encoding="utf-8")
    (tmp_path / "b-draft.json").write_text(json.dumps(trace | {"totals": {}, "run": {"sampling": {}}}), encoding="utf-8")
    (tmp_path / "c-draft.json").write_text(json.dumps(trace | {"totals": []}), encoding="utf-8")
    found = {r["name"]: r for r in run_list.load(tmp_path)}
    assert found["a-draft"]["ratio"] is None and found["a-draft"]["cost"] is None
    assert found["b-draft"]["tested"] == 0 and found["b-draft"]["method"] == ""
    assert "c-draft" not in found


def test_measured_once_for_everybody_and_again_on_wish(monkeypatch):
    engine = Calibrated()
    measured = Measured(engine)
    assert measured.last() == gr.skip() and engine.asked == [], "nothing is measured by itself"
    assert Measured(Calibrated(phase="loading")).last() == gr.skip()
    first = json.loads(measured.measure())
    assert first["calibration"]["pass_s"]["1"] == 0.03
    assert json.loads(measured.last())["calibration"] == first["calibration"] and engine.asked == [False]
    again = measured.measure()
    assert engine.asked == [False] and json.loads(again)["calibration"] == first["calibration"], "a wish within 20 s gets the last one"
    assert again != measured.measure(), "every wish is answered"
    measured.at -= 100
    assert json.loads(measured.measure())["calibration"]["pass_s"]["1"] == 0.045 and engine.asked == [False, True]


def test_not_ready_and_failures_are_one_sentence():
    loading = Measured(Calibrated(phase="loading", progress=0.4))
    assert "loading (40 %)" in json.loads(loading.measure())["error"]
    assert (
        json.loads(Measured(Calibrated(EnvironmentFailure("Another run is still going on."))).measure())["error"] == "Another run is still going on."
    )
    bug = Measured(Calibrated(RuntimeError("secret /path")))
    assert "secret" not in bug.measure() and "try again" in json.loads(bug.measure())["error"]


def test_two_wishes_at_once_measure_once():
    engine = Calibrated()
    measured = Measured(engine)
    threads = [threading.Thread(target=measured.measure) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert engine.asked == [False]


def test_sizes_of_the_drafts_that_ship(tmp_path):
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "model.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "draft" / "config.json").write_bytes(b"{}")
    assert methods.sizes(tmp_path) == {"draft": 10}
    assert methods.sizes(tmp_path / "none") == {}
