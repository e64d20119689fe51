"""The generator of a live run: its text only grows, it says one sentence, it ends in every case and always closes the engine's stream."""

import itertools
import json
import logging

import pytest

from core.errors import EnvironmentFailure, UserError
from spec_ui.server import live, model_state
from tests.spec_ui.fake_engine import FakeEngine

FIELDS = ("Explain rain.", "draft", 4, 0.7, 1.0, 7, 40)


def run(engine, *fields, **options):
    return list(live.run(engine, *(fields or FIELDS), **options))


def test_the_text_only_grows_and_ends_measured():
    out = run(FakeEngine())
    texts = [t for t, _ in out]
    assert all(b.startswith(a) for a, b in itertools.pairwise(texts))
    lines = [json.loads(x) for x in texts[-1].splitlines()]
    assert lines[0]["source"] == "live" and lines[0]["run"]["prompt"] == "Explain rain."
    assert [("totals" in x, bool(x.get("plain"))) for x in lines[-2:]] == [(True, False), (True, True)]
    assert json.loads(out[-1][1]) == {"kind": "info", "text": "Done. Step through it, or change something and run again."}
    assert len(out) == len(lines) + 1, "one yield a line: Stop acts within one round"


def test_refusals_leave_the_player_alone():
    engine = FakeEngine()
    ((text, notice),) = run(engine, "", *FIELDS[1:])
    assert text is None and json.loads(notice)["kind"] == "error" and engine.requests == []


@pytest.mark.parametrize(
    "phase, words", [("idle", "not ready yet"), ("downloading", "not ready yet (62 %)"), ("loading", "not ready yet"), ("failed", "no live model")]
)
def test_not_ready(phase, words):
    engine = FakeEngine(phase=phase, progress=0.62)
    ((text, notice),) = run(engine)
    assert text is None and words in json.loads(notice)["text"] and engine.requests == []


@pytest.mark.parametrize(
    "failure, sentence",
    [
        (UserError("The prompt is too long."), "The prompt is too long."),
        (EnvironmentFailure("No memory."), "No memory."),
        (RuntimeError("Explain rain."), "The run failed on the server; please try again."),
    ],
)
def test_failures_are_sentences_and_prompts_stay_out_of_the_log(failure, sentence, caplog):
    with caplog.at_level(logging.DEBUG):
        _text, notice = run(FakeEngine(fail=failure))[-1]
    assert json.loads(notice) == {"kind": "error", "text": sentence}
    assert "Explain rain." not in caplog.text
    assert isinstance(failure, (UserError, EnvironmentFailure)) or "RuntimeError" in caplog.text


def test_stop_closes_the_inner_stream():
    engine = FakeEngine()
    generator = live.run(engine, *FIELDS)
    next(generator), next(generator)
    generator.close()
    assert (engine.closed, engine.running, engine.finished) == (1, 0, 0)


def test_a_run_ends_after_its_seconds():
    engine, now = FakeEngine(), iter(range(0, 10_000, 7))
    out = run(engine, seconds=20, clock=lambda: next(now))
    assert "stopped after 20 seconds" in json.loads(out[-1][1])["text"]
    assert json.loads(out[-1][0].splitlines()[-1])["totals"]["stop"] == "cancelled"
    assert (engine.closed, engine.running) == (1, 0)


def test_a_failure_half_way_leaves_a_readable_trace():
    class Breaks(FakeEngine):
        def stream(self, request):
            inner = super().stream(request)
            for _ in range(4):
                yield next(inner)
            raise EnvironmentFailure("The machine ran out of memory.")

    text, notice = run(Breaks())[-1]
    assert json.loads(text.splitlines()[-1])["totals"]["stop"] == "cancelled" and "out of memory" in notice


def test_load_sentences():
    state = FakeEngine(phase="downloading", progress=0.305)._state
    assert model_state.load_sentence(state) == ("The live model is downloading (30 %) …", "busy")


def test_settings_and_a_branch_reach_the_engine_and_the_head_says_what_was_given():
    engine = FakeEngine()
    branch = {"prompt": "Explain snow.", "base": 3, "after_ids": [5, 6], "after_text": "", "shown": " a b"}
    text, _ = run(engine, "Explain rain.", "draft", "auto", 0.7, 1.0, 7, 20, settings='{"given": {"tree": "3x2x1"}}', branch=branch)[-1]
    asked = engine.requests[-1]
    assert (asked.prompt, asked.draft_len, asked.settings, asked.after_ids) == ("Explain snow.", "auto", {"tree": "3x2x1"}, (5, 6))
    assert json.loads(text.splitlines()[0])["branch"] == {"base": 3, "text": " a b"}


def test_a_setting_of_another_method_is_refused():
    ((text, notice),) = run(FakeEngine(), "Explain rain.", "plain", *FIELDS[2:], settings='{"given": {"tree": "auto"}}')
    assert text is None and "no such setting" in json.loads(notice)["text"]


def test_sentences_come_in_the_visitors_language():
    assert "Готово" in json.loads(run(FakeEngine(), lang="ru")[-1][1])["text"]
    assert "Сначала напишите" in json.loads(run(FakeEngine(), "", *FIELDS[1:], lang="ru")[-1][1])["text"]
    assert "ещё не загружена (62 %)" in json.loads(run(FakeEngine(phase="loading", progress=0.62), lang="ru")[-1][1])["text"]
    assert "Done." in json.loads(run(FakeEngine(), lang="../../x")[-1][1])["text"]


@pytest.mark.parametrize(
    "failure, english, russian",
    [
        (
            UserError("--tree wants chain, not 'banana'.", "shape", setting="tree", given="banana"),
            "Shape of the draft must be chain, auto or the candidates at each depth, such as 3x2x1, not “banana”.",
            "Форма черновика: нужно chain, auto или число кандидатов на каждом уровне, например 3x2x1, а не «banana».",
        ),
        (
            UserError("--ngram-min 4 is more than --ngram-max 3.", "more_than", setting="ngram_min", other="ngram_max", low=4, high=3),
            "Shortest n-gram (4) must not be more than Longest n-gram (3).",
            "«Самая короткая n-грамма» (4) не может быть больше, чем «Самая длинная n-грамма» (3).",
        ),
        (UserError("{odd}", "shape", setting="{x}", given="{0}"), "{x} must be chain", "{x}: нужно chain"),
        (EnvironmentFailure("Busy.", "busy"), "Another run is still going on", "Ещё идёт другая генерация"),
        (UserError("Only the engine knows.", "no such reason"), "Only the engine knows.", "Only the engine knows."),
    ],
)
def test_the_engines_refusals_name_the_pages_own_fields(failure, english, russian):
    for lang, sentence in (("en", english), ("ru", russian)):
        said = json.loads(run(FakeEngine(fail=failure), lang=lang)[-1][1])
        assert said["kind"] == "error" and said["text"].startswith(sentence) and "--" not in said["text"]
