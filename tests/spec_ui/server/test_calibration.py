"""Measuring this machine: once for everybody, in the visitor's language, and never by itself."""

import json
import threading

from core.errors import EnvironmentFailure
from spec_ui.server.calibration import Calibration
from tests.spec_ui.fake_engine import FakeEngine


def test_measured_once_for_everybody_and_again_on_wish():
    engine = FakeEngine()
    measured = Calibration(engine)
    assert measured.last() is None and engine.asked == [], "nothing is measured by itself"
    assert Calibration(FakeEngine(phase="loading")).last() is None
    first = json.loads(measured.measure())
    assert first["calibration"]["pass_s"]["1"] == 0.03
    assert json.loads(measured.last())["calibration"] == first["calibration"] and engine.asked == [False]
    again = measured.measure()
    assert engine.asked == [False] and json.loads(again)["calibration"] == first["calibration"], "a wish within 20 s gets the last one"
    assert again != measured.measure(), "every wish is answered"
    measured.at -= 100
    assert json.loads(measured.measure())["calibration"]["pass_s"]["1"] == 0.045 and engine.asked == [False, True]


def test_not_ready_and_failures_are_one_sentence():
    loading = Calibration(FakeEngine(phase="loading", progress=0.4))
    assert "loading (40 %)" in json.loads(loading.measure())["error"]
    assert "загружается (40 %)" in json.loads(loading.measure("ru"))["error"]
    full = Calibration(FakeEngine(wrong=EnvironmentFailure("The disk is full.")))
    assert json.loads(full.measure())["error"] == "The disk is full."
    bug = Calibration(FakeEngine(wrong=RuntimeError("secret /path")))
    for lang, said in (("en", "try again"), ("ru", "попробуйте")):
        assert "secret" not in bug.measure(lang) and said in json.loads(bug.measure(lang))["error"]


def test_two_wishes_at_once_measure_once():
    engine = FakeEngine()
    measured = Calibration(engine)
    threads = [threading.Thread(target=measured.measure) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert engine.asked == [False]
