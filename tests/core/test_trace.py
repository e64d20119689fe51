"""The trace's two written forms parse alike and keep every text; anything that is no trace is refused in one sentence."""
from __future__ import annotations

import json
import os
import stat

import pytest

from core import trace
from core.errors import EnvironmentFailure, UserError
from core.measuring import stats
from core.sampling.probs import Sampling
from core.trace import Trace
from tests.core import tiny

HOSTILE = "a\u2028b\u2029c\x85\x0b\x0c\r\n\t\x00\x1b[31m</script>${x}{{y}}\\ \"'\u202e\N{SEEDLING}\x7f"
RUN = {"target": "tiny", "draft": None, "method": "draft", "verify": "chain", "lossless": True, "device": "cpu", "dtype": "float64",
       "prompt": HOSTILE, "prompt_ids": [3, 1, 4, 1, 5], "sampling": {"temperature": 1.0}, "draft_len": 4, "seed": 0, "costs": {}, "weights": {}}


class HostileText(tiny.Proposer):
    size = 20

    def piece(self, token: int) -> str:
        return f"{token}{HOSTILE}"

    def decode(self, tokens, special=False) -> str:
        return "".join(map(self.piece, tokens))


def recorded(rounds: int = 99, plain: bool = False) -> Trace:
    to = tiny.target()
    run, done = tiny.decode(to, tiny.near_model(to.model), text=HostileText(), sampling=Sampling(1.0))
    done = done[:rounds]
    totals = stats.totals(done, run.output_text, run.stop, 5)
    return Trace(dict(RUN), done, totals, stats.plain_record(done) if plain else None)


@pytest.mark.parametrize("made", [recorded(), recorded(plain=True), recorded(1), Trace(dict(RUN), [], stats.totals([], "", "cancelled", None)),
                                  Trace(dict(RUN))],
                         ids=["run", "with plain", "one round", "no round", "no totals"])
def test_both_forms_parse_alike_and_survive_the_round_trip(made, tmp_path):
    made.write(tmp_path / "a.json")
    made.write(tmp_path / "a.ndjson")
    whole, stream = trace.read(tmp_path / "a.json"), trace.read(tmp_path / "a.ndjson")
    assert whole == stream == made
    assert trace.parse(trace.dumps(whole.to_json())) == made
    assert [e.id for r in made.rounds for e in r.emitted] == whole.emitted_ids
    assert len((tmp_path / "a.ndjson").read_bytes().split(b"\n")) == len(made.rounds) + 3


def test_no_text_breaks_a_line_of_the_stream():
    """Each line is one JSON object, though texts contain U+2028, form feeds and NEL, which some readers take for line ends."""
    for line in recorded().lines():
        assert line.count("\n") == 1 and line.endswith("\n")
        json.loads(line)


def test_the_newest_totals_of_a_stream_count():
    made = recorded()
    plain = stats.plain_record(made.rounds)
    text = "".join(made.lines()) + trace.last_line(made.totals, plain)
    assert trace.parse(text).plain == plain


@pytest.mark.parametrize("ending", ["\n\n", "", "\r\n"])
def test_blank_lines_and_crlf_do_not_matter(ending):
    made = recorded()
    assert trace.parse(ending.join(["", *(x.rstrip("\n") + "\n" for x in made.lines()), ""])) == made


def test_a_stream_that_is_still_being_written_is_read_as_far_as_it_goes():
    made = recorded()
    got = trace.parse("".join([*made.lines()][:3]))
    assert got.rounds == made.rounds[:2] and got.totals is None


def edited(path: str, value: object) -> str:
    data = json.loads(trace.dumps(recorded().to_json()))
    at = data
    *parents, last = [int(x) if x.isdigit() else x for x in path.split("/")]
    for part in parents:
        at = at[part]
    if value is KeyError:
        del at[last]
    else:
        at[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(("path", "value", "said"), [
    ("version", 2, "version 2"), ("version", "1", "version '1'"), ("version", True, "version"), ("version", KeyError, "version None"),
    ("run", KeyError, "run"), ("run/method", 5, "run/method"), ("run/prompt_ids", [-1], "run/prompt_ids/0"), ("run/verify", "magic", "run/verify"),
    ("rounds", 5, "rounds"), ("rounds/1", [], "rounds/1"), ("rounds/1/emitted", KeyError, "rounds/1.*emitted"),
    ("rounds/1/emitted/0/kind", "guess", "rounds/1/emitted/0/kind"), ("rounds/1/emitted/0/id", 1.5, "rounds/1/emitted/0/id"),
    ("rounds/1/drafted/0/verdict", "maybe", "rounds/1/drafted/0/verdict"), ("rounds/1/drafted/0/p", None, "rounds/1/drafted/0/p"),
    ("rounds/1/drafted/0/parent", -2, "rounds/1/drafted/0/parent"), ("rounds/1/tables/0/ids", "x", "rounds/1/tables/0/ids"),
    ("rounds/1/tables/0/others", KeyError, "rounds/1/tables/0"), ("rounds/0/elapsed_s", "1", "rounds/0/elapsed_s"),
    ("totals", 5, "totals"), ("totals/stop", "bored", "totals/stop"), ("totals/new_tokens", "9", "totals/new_tokens"), ("plain", [], "plain"),
    ("rounds/1/drafted/0/p", float("nan"), "NaN"), ("totals/ttft_s", float("inf"), "Infinity")], ids=str)
def test_what_is_wrong_is_named_with_its_place(path, value, said):
    with pytest.raises(UserError, match=said) as caught:
        trace.parse(edited(path, value))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize("text", [
    "", "\n", "null", "[]", "5", '"x"', "{", "{}", "not a trace", '{"version": 1}', "[" * 100_000, '{"a":' * 50_000, "1" * 5000,
    '{"version": 1, "run": {}}', '{"version":1,"run":{},"rounds":5}\n{"index":0}', '{"index": 0}',
    '{"version":1,"run":{},"rounds":[]}\n{"rounds":null}',
    "\ufeff{}", '{"version":1,"run":5}\n{"index":1}'], ids=lambda t: t[:20])
def test_what_is_no_trace_is_refused_in_one_sentence(text):
    with pytest.raises(UserError) as caught:
        trace.parse(text)
    assert "\n" not in str(caught.value)


def test_unknown_keys_are_allowed_everywhere():
    data = json.loads(trace.dumps(recorded().to_json()))
    for at in (data, data["run"], data["totals"], data["rounds"][1], data["rounds"][1]["drafted"][0], data["rounds"][1]["tables"][0]):
        at["from the future"] = [1, {"x": None}]
    got = trace.parse(json.dumps(data))
    assert got.rounds == recorded().rounds or [r.emitted for r in got.rounds] == [r.emitted for r in recorded().rounds]


@pytest.mark.parametrize(("make", "said"), [
    (lambda p: p / "none.json", "none.json"), (lambda p: p, "folder|directory"), (lambda p: p.joinpath("x" * 300), "long")])
def test_files_that_cannot_be_read(make, said, tmp_path):
    with pytest.raises(UserError, match=said):
        trace.read(make(tmp_path))


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "x.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match="UTF-8"):
        trace.read(tmp_path / "x.json")


def test_writing_replaces_a_file_at_once_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    umask = os.umask(0o027)
    try:
        recorded().write(path)
    finally:
        os.umask(umask)
    assert trace.read(path).run == RUN and os.listdir(tmp_path) == ["a.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("fail", ["write", "replace"])
def test_a_failed_write_keeps_the_old_file_and_cleans_up(tmp_path, monkeypatch, fail):
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")
    if fail == "replace":
        monkeypatch.setattr(os, "replace", full)
    else:
        monkeypatch.setattr(trace.os, "chmod", full)
    with pytest.raises(EnvironmentFailure, match="No space left"):
        recorded().write(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.json"]


def test_writing_where_there_is_no_folder(tmp_path):
    with pytest.raises(EnvironmentFailure, match="none"):
        recorded().write(tmp_path / "none" / "a.json")


def test_nan_is_never_written():
    made = recorded()
    made.totals.ttft_s = float("nan")
    with pytest.raises(ValueError):
        trace.dumps(made.to_json())
