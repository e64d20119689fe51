"""Every mistake on the command line is one clear line on stderr, nothing on stdout and exit code 2."""
from __future__ import annotations

import os

import pytest

from tests.core.cli.called import argv, run

BAD = {
    "no command": [], "unknown command": ["decode"], "unknown option": ["run", "--prompt", "x", "--fast"], "shortened option": ["run", "--prom", "x"],
    "no prompt": ["run"], "empty prompt": ["run", "--prompt", ""], "blank prompt": ["run", "--prompt", " \n"], "no value": ["run", "--prompt"],
    "both prompts": ["run", "--prompt", "x", "--prompt-ids", "1"], "ids with a gap": ["run", "--prompt-ids", "1,,2"],
    "no ids": ["run", "--prompt-ids", ""],
    "ids that are words": ["run", "--prompt-ids", "a,b"], "fractional ids": ["run", "--prompt-ids", "1.5"],
    "ids and system": ["run", "--prompt-ids", "1", "--system", "x"],
    "ids and raw": ["run", "--prompt-ids", "1", "--raw"], "surrogate": ["run", "--prompt", "a\udcff"],
    "surrogate stop": ["run", "--prompt", "x", "--stop", "\udcff"],
    **{f"{option} {value}": ["run", "--prompt", "x", option, value] for option, values in {
        "--temperature": ["-1", "nan", "inf", "1e400", "x", "", "1e-9", "101"], "--top-k": ["-1", "1.5", "nan", "x", "²"],
        "--top-p": ["0", "-0.1", "1.1", "nan", "inf"],
        "--min-p": ["-0.1", "1.1", "nan"], "--repetition-penalty": ["0", "-1", "nan", "inf", "1e300"],
        "--seed": ["-1", "1.5", str(2 ** 63), "9" * 5000],
        "--max-new-tokens": ["-1", "1.5", "x"], "--draft-len": ["-1", "x", "1e3", ""], "--threads": ["0", "-1", "100000000"],
        "--verify": ["luck", "", "tree"],
        "--method": ["magic", "", "Draft", "draft,plain"], "--pair": ["magic"], "--device": ["gpu", "", "mps"], "--dtype": ["int9", ""],
        "--stop": [""],
        "--json": ["/no/such/folder/t.json", "/tmp", ".", "x" * 300]}.items() for value in values},
    **{f"{option} {value}"[:40]: ["run", "--prompt", "x", option, value] for option, values in {
        "--json-schema": ["/no/such.json", "/tmp", '{"type": "stringg"}', '{"type":', '{"not": {}}'], "--regex": ["", "(", "a(?=b)", "\udcff"],
        "--choice": ["", "a,,b"]}.items() for value in values},
    "two forms": ["run", "--prompt", "x", "--regex", "a", "--choice", "a,b"],
    "a tree and a length": ["run", "--prompt", "x", "--method", "medusa", "--draft-len", "3"],
    "trees alone and a length": ["compare", "--prompt", "x", "--methods", "medusa,eagle", "--tree", "auto", "--draft-len", "3"],
    "missing target": ["run", "--prompt", "x", "--target", "no/such/model/here"],
    "target that is a file": ["run", "--prompt", "x", "--target", __file__],
    "no repeats": ["compare", "--prompt", "x", "--repeats", "0"], "no methods": ["compare", "--prompt", "x", "--methods", " , "],
    "unknown method": ["compare", "--prompt", "x", "--methods", "draft,magic"], "show what": ["traces", "show"],
    "show nothing": ["traces", "show", "/no/such.json"],
    "show a folder": ["traces", "show", "/tmp"], "record into nowhere": ["traces", "record", "--out", "/no/such/folder"],
    "traces what": ["traces"], "bad json place": ["compare", "--prompt", "x", "--json", "/no/such/folder/x"]}


@pytest.mark.parametrize("args", BAD.values(), ids=[k[:40] for k in BAD])
def test_mistakes_are_one_line_and_exit_2(args, capsys, models):
    if args[:1] in (["run"], ["compare"]) and "--target" not in args and "--pair" not in args:
        args = [*args, "--target", str(models / "target"), "--draft", str(models / "draft"), *([] if "--threads" in args else ["--threads", "1"])]
    code, out, err = run(capsys, args)
    assert (code, out) == (2, "")
    assert err.startswith("specscope: ") and err.count("\n") == 1 and 20 < len(err) < 700
    assert "_whole" not in err and "error:" not in err


MODEL_MISTAKES = {
    "ids out of range": ["--prompt-ids", "1,258"], "negative ids": ["--prompt-ids=-1"], "huge ids": ["--prompt-ids", "9" * 30],
    "a prompt longer than the context": ["--prompt", "x" * 300], "ids longer than the context": ["--prompt-ids", ",".join(["5"] * 256)]}


@pytest.mark.parametrize("more", MODEL_MISTAKES.values(), ids=MODEL_MISTAKES)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_prompts_that_the_target_cannot_take(more, command, capsys, models):
    code, out, err = run(capsys, argv(models, *more, command=command))
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_text_for_a_target_without_a_tokenizer(models, capsys):
    code, out, err = run(capsys, ["run", "--target", str(models / "bare"), "--method", "plain", "--prompt", "x", "--threads", "1"])
    assert (code, out) == (2, "") and "--prompt-ids" in err


def test_a_target_without_a_draft(models, capsys):
    code, out, err = run(capsys, ["run", "--target", str(models / "target"), "--prompt", "x", "--threads", "1"])
    assert (code, out) == (2, "") and "--draft" in err


@pytest.mark.parametrize("content", ["", "{}", "not json", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass"), '{"version": 9}'], ids=range(6))
def test_files_that_are_no_trace(content, capsys, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, ["traces", "show", str(path)])
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_a_gguf_file_that_is_none(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.gguf").write_bytes(b"not a gguf")
    code, out, err = run(capsys, ["run", "--prompt", "x", "--target", str(tmp_path / "x.gguf")])
    assert (code, out) == (2, "") and "x.gguf" in err and err.count("\n") == 1


def test_arguments_that_are_not_utf8(models, capsys):
    code, out, err = run(capsys, argv(models, "--prompt", os.fsdecode(b"a\xff")))
    assert (code, out, err) == (2, "", "specscope: --prompt is not UTF-8 text.\n")


def test_a_draft_for_another_method_is_refused(models, capsys):
    code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--method", "lookup"))
    assert code == 2 and "--method draft" in err
