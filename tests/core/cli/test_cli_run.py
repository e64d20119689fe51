"""`specscope run`: what is on stdout and in the trace, whatever form was asked for."""
from __future__ import annotations

import io
import json
import os
import sys

import pytest
import torch

from core import trace
from core.checkpoints import weights
from core.cli import main
from core.cli.terminal import visible
from core.models import graphs
from tests.core import check, tiny
from tests.core.cli.called import argv, run, traced


def test_json_on_stdout_and_nothing_else(models, capsys):
    code, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--json", "-", "--baseline"))
    made = trace.parse(out)
    assert code == 0 and out.count("\n") == 1 and json.loads(out)["version"] == 1
    assert made.totals.new_tokens == 12 and made.totals.stop == "length" and made.plain["elapsed_s"] == sorted(made.plain["elapsed_s"])
    assert len(made.plain["elapsed_s"]) == 12
    facts = made.run
    assert (facts["prompt"], facts["method"], facts["lossless"], facts["draft_len"], facts["seed"]) == ("Hi", "draft", True, "auto", 0)
    assert len(facts["prompt_ids"]) == len("user:Hi\nA:") + 1 and facts["dtype"] == "float32" and len(facts["weights"]) == 2
    for r in made.rounds:
        check.round_(r, True, made.totals.stop if r is made.rounds[-1] else None)
        check.tables(r)


@pytest.mark.parametrize("name", ["t.json", "t.ndjson"])
def test_json_into_a_file(models, capsys, tmp_path, name):
    code, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", str(tmp_path / name)))
    made = trace.read(tmp_path / name)
    assert code == 0 and made.totals.new_tokens == 12 and os.listdir(tmp_path) == [name]
    assert out == visible(made.totals.text) + "\n" and "12 tokens" in err and err.count("\n") == 1


@pytest.mark.parametrize("method", ["plain", "draft"])
def test_greedy_text_is_the_same_for_every_method_and_baseline(models, capsys, method):
    texts = {run(capsys, argv(models, "--prompt", "Hi", "--method", method, *more, draft=d))[1] for d in ("draft", "same") for more in ([],
        ["--baseline"])}
    plain = run(capsys, argv(models, "--prompt", "Hi", "--method", "plain"))[1]
    assert texts == {plain}


def test_a_perfect_draft_is_told_so(models, capsys):
    _, _, err = run(capsys, argv(models, "--prompt", "Hi", "--temperature", "0.9", draft="same"))
    assert "100% of tested" in err


def test_prompts_as_text_raw_with_a_system_turn_and_as_ids(models, capsys):
    def ids(*more):
        return traced(capsys, argv(models, "--max-new-tokens", "1", *more)).run["prompt_ids"]
    tokenizer = tiny.tokenizer()
    assert ids("--prompt", "Hi", "--raw") == tokenizer.encode("Hi").ids
    assert tokenizer.decode(ids("--prompt", "Hi", "--system", "S")) == "system:S\nuser:Hi\nA:"
    assert ids("--prompt-ids", "5, 9,7") == [5, 9, 7]


@pytest.mark.parametrize(("given", "code"), [("Gr\u00fc\u00dfe\n".encode(), 0), (b"\xff\xfe", 2), (b"", 2)])
def test_a_prompt_from_stdin(models, capsys, monkeypatch, given, code):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
    got, out, err = run(capsys, argv(models, "--prompt", "-", "--json", "-"))
    assert got == code and (code == 0 or (out == "" and err.count("\n") == 1))
    if not code:
        assert trace.parse(out).run["prompt"] == given.decode()


def test_a_stdin_that_is_closed(models, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(capsys, argv(models, "--prompt", "-")) == (2, "", "specscope: --prompt - reads the prompt from stdin, which is closed.\n")


def test_output_is_utf8_whatever_the_locale(models, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main.main(argv(models, "--prompt", "Grüße \N{SEEDLING}", "--json", "-")) == 0
    assert trace.parse(written.getvalue().decode("utf-8")).run["prompt"] == "Grüße \N{SEEDLING}"


def test_ansi_only_where_a_person_watches(models, capsys, monkeypatch):
    args = argv(models, "--prompt", "Hi")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run(capsys, args)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(capsys, args)[1]


def test_a_target_without_a_tokenizer_runs_on_ids(models, capsys):
    args = ["run", "--target", str(models / "bare"), "--draft", str(models / "bare draft"), "--prompt-ids", "3,1,4", "--max-new-tokens", "6",
            "--dtype", "float64", "--threads", "1"]
    code, out, _ = run(capsys, args)
    want = tiny.greedy(weights.load_decoder(models / "bare", torch.float64, "cpu"), [3, 1, 4], 6)
    assert code == 0 and out == "".join(f"<{t}>" for t in want) + "\n"


def test_same_seed_same_trace(models, capsys):
    def rounds(seed):
        made = traced(capsys, argv(models, "--prompt", "Hi", "--temperature", "1", "--seed", seed, "--draft-len", "4"))
        return [(r.drafted, r.emitted, r.tables) for r in made.rounds]
    assert rounds("0") == rounds("0") and rounds("0") != rounds("1")


def test_no_tables(models, capsys):
    made = traced(capsys, argv(models, "--prompt", "Hi", "--no-tables", "--draft-len", "4"))
    assert all(r.tables == [] for r in made.rounds) and any(r.drafted for r in made.rounds)


def test_the_trace_says_what_was_captured(models, capsys, monkeypatch):
    def said(*more):
        return traced(capsys, argv(models, "--prompt", "abab", *more)).run["graphs"]

    assert said().startswith("off: a CPU") and said("--no-graphs") == "off: --no-graphs"
    monkeypatch.setattr(graphs, "CPU_BY_DEFAULT", True)
    assert said() == "static" and said("--no-graphs") == "off: --no-graphs"


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_tokens(models, capsys, n):
    made = traced(capsys, argv(models, "--prompt", "Hi", "--baseline", "--max-new-tokens", str(n)))
    assert made.totals.new_tokens == n and len(made.rounds) == n
    code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--max-new-tokens", str(n)))
    assert code == 0 and f"{n} tokens" in err


def test_a_stop_string_is_cut_from_the_text(models, capsys):
    text = traced(capsys, argv(models, "--prompt", "Hi")).totals.text
    at = next((i for i in range(2, len(text) - 1) if text[i] != "\ufffd"), None)
    assert at is not None
    _, out, err = run(capsys, argv(models, "--prompt", "Hi", "--stop", text[at]))
    assert out == visible(text[:text.index(text[at])]) + "\n" and "stop_string" in err


def test_costs_of_a_trace_are_replayed(models, capsys, tmp_path):
    first = tmp_path / "first.json"
    run(capsys, argv(models, "--prompt", "Hi", "--draft-len", "auto", "--json", str(first)))
    recorded = trace.read(first)
    again = traced(capsys, argv(models, "--prompt", "Hi", "--draft-len", "auto", "--costs", str(first)))
    assert again.run["costs"] == recorded.run["costs"]
    assert [r.draft_len for r in again.rounds] == [r.draft_len for r in recorded.rounds]
    for text in ("[]", "{}", '{"verify_s": {"1": 0}}', '{"run": 5}', '{"verify_s": {"a": 1, "2": 2}}'):
        (tmp_path / "bad.json").write_text(text)
        code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--costs", str(tmp_path / "bad.json")))
        assert code == 2 and err.count("\n") == 1, (text, err)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("to", ["-", "t.json"])
def test_interrupted_between_rounds(models, capsys, tmp_path, monkeypatch, at, to):
    """Ctrl-C is raised where it falls: here while a round runs. What was decoded so far is written."""
    from core.decoding.loop import Decoding
    real, calls = Decoding._launch, []

    def launch(self):
        calls.append(1)
        if len(calls) > at:
            raise KeyboardInterrupt
        return real(self)
    monkeypatch.setattr(Decoding, "_launch", launch)
    code, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", to if to == "-" else str(tmp_path / to)))
    made = trace.parse(out) if to == "-" else trace.read(tmp_path / to)
    assert code == 130 and made.totals.stop == "cancelled" and len(made.rounds) == at and err.endswith("kept.\n")
