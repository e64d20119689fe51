"""The engine on the real model: loading, streams, cancelled runs, branches, calibration."""
import json
import threading
import time

import pytest

from core import trace
from core.errors import EnvironmentFailure, UserError
from core.runs.engine import Engine, RunRequest


@pytest.fixture(scope="module")
def engine():
    made = Engine()
    made.start()
    made.start()
    end = time.monotonic() + 300
    while made.state().phase not in ("ready", "failed") and time.monotonic() < end:
        time.sleep(0.1)
    assert made.state().phase == "ready", made.state()
    return made


def stream(engine, **kwargs):
    return list(engine.stream(RunRequest("Name three rivers.", max_new_tokens=12, **kwargs)))


def test_before_loading_every_request_is_refused_in_words():
    unloaded = Engine()
    assert unloaded.state().phase == "idle"
    with pytest.raises(EnvironmentFailure, match="not ready"):
        next(unloaded.stream(RunRequest("hello")))
    with pytest.raises(EnvironmentFailure, match="not ready"):
        unloaded.calibration()


def test_an_unknown_pair_fails_in_words():
    bad = Engine("no-such-pair")
    bad.start()
    bad._thread.join(60)
    assert bad.state().phase == "failed" and "no-such-pair" in bad.state().message


def test_stream_is_a_trace_with_plain_measured_last(engine):
    lines = stream(engine, method="draft", temperature=0.7)
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    last = [json.loads(line) for line in lines if '"totals"' in line]
    assert [line["plain"] is None for line in last] == [True, False]
    assert {"plain_progress": {"tokens": 8}} in map(json.loads, lines)
    read = trace.parse("".join(lines))
    assert 4 < len(read.emitted_ids) == read.totals.new_tokens == len(read.plain["elapsed_s"]) <= 12       # EOS may come earlier
    assert {m.name for m in engine.methods()} >= {"draft", "plain"}


def test_same_seed_same_text_and_greedy_equals_plain(engine):
    def ids(**kwargs):
        return trace.parse("".join(stream(engine, baseline=False, **kwargs))).emitted_ids
    assert ids(temperature=0.9, seed=0) == ids(temperature=0.9, seed=0)
    assert ids(temperature=0.9, seed=0) != ids(temperature=0.9, seed=1)


def test_leaving_in_the_middle_frees_the_engine(engine):
    running = engine.stream(RunRequest("Tell a long story.", max_new_tokens=200))
    next(running), next(running)
    running.close()
    assert not engine._busy.locked()
    assert stream(engine, baseline=False)


def test_one_thread_decodes_for_callers_on_all_threads(engine, monkeypatch):
    threads, write = set(), trace.round_line
    monkeypatch.setattr(trace, "round_line", lambda r: (threads.add(threading.get_ident()), write(r))[1])
    lines, out = engine.stream(RunRequest("Name two colours.", max_new_tokens=6, baseline=False)), []
    while not out or out[-1]:
        asks = threading.Thread(target=lambda: out.append(next(lines, None)))
        asks.start()
        asks.join()
    assert len(out) > 4 and len(threads) == 1


def test_second_visitor_waits_for_the_first(engine):
    running = engine.stream(RunRequest("Tell a long story.", max_new_tokens=64, baseline=False))
    next(running)
    done = []
    other = threading.Thread(target=lambda: done.append(stream(engine, baseline=False)))
    other.start()
    time.sleep(0.3)
    assert not done
    list(running)
    other.join(60)
    assert done


def test_a_branch_goes_on_from_the_given_output(engine):
    first = trace.parse("".join(stream(engine, baseline=False)))
    forced = tuple(first.emitted_ids[:3])
    branch = trace.parse("".join(stream(engine, baseline=False, after_ids=forced, after_text=" and then")))
    assert branch.run["prompt_ids"][:len(first.run["prompt_ids"]) + 3] == first.run["prompt_ids"] + list(forced)
    with pytest.raises(UserError):
        stream(engine, baseline=False, after_ids=(10 ** 9,))


def test_a_coupled_run(engine):
    got = trace.parse("".join(stream(engine, baseline=False, temperature=1.0, seed=4, verify="coupled", draft_len=3)))
    assert any(r.drafted for r in got.rounds)
    assert got.run["verify"] == "coupled" and all(d.u is None and d.threshold in (0, 1) for r in got.rounds for d in r.drafted)


def test_calibration_is_kept_until_redone(engine):
    once = engine.calibration()
    assert engine.calibration() is once and engine.calibration(redo=True) is not once
    assert set(once["pass_s"]) == {"1", "2", "4", "8", "16", "32"} and once["weights_bytes"] > 7e7 and once["memory_bytes_per_s"] > 0


def test_bad_requests_are_refused_in_words(engine):
    for bad in ({"method": "nope"}, {"temperature": float("nan")}, {"temperature": -1.0}, {"top_p": 0.0}, {"seed": -1}, {"draft_len": "many"}):
        with pytest.raises(UserError):
            stream(engine, **bad)
    with pytest.raises(UserError):
        list(engine.stream(RunRequest("word " * 20_000)))


def test_a_refused_setting_has_a_reason_and_values(engine):
    """The page writes its own sentence from them; the message names the flag, for the terminal."""
    for method, settings, reason, values in (
            ("draft", {"tree": "banana"}, "shape", {"setting": "tree", "given": "banana"}),
            ("draft", {"tree": "auto"}, "shape_auto", {"setting": "tree"}),
            ("draft", {"tree": "16x16"}, "shape_big", {"setting": "tree", "n": 272, "most": 128}),
            ("lookup", {"ngram_min": 4}, "more_than", {"setting": "ngram_min", "other": "ngram_max", "low": 4, "high": 3}),
            ("early-exit", {"skip_layers": "9-2"}, "layers_order", {"setting": "skip_layers", "low": "2", "high": "9"}),
            ("early-exit", {"exit_layer": "900"}, "layer_count", {"setting": "exit_layer", "most": 29, "given": "900"})):
        with pytest.raises(UserError, match="--") as refused:
            stream(engine, method=method, settings=settings)
        assert (refused.value.reason, refused.value.values) == (reason, values)


def test_the_phase_of_loading_is_told_and_not_read_off_the_message():
    engine = Engine()
    engine._report("Loading what was fetched and downloaded", 0.5)
    assert (engine.state().phase, engine.state().progress) == ("loading", 0.5)
    engine._report("The wheel", None, "downloading")
    assert engine.state().phase == "downloading"
