"""The environment's trouble: full disks, readers that leave, little memory, missing packages, broken installations, Ctrl-C.
A process is started only where the operating system is the point."""
from __future__ import annotations

import os
import signal
import sys

import pytest

from core import assets, trace
from core.checkpoints import presets
from core.cli import commands, main
from core.runs import prompts
from tests.core import tiny
from tests.core.cli.called import argv, process, run


def test_a_disk_that_fills_is_exit_1(models, capsys, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(trace.os, "replace", full)
    code, _, err = run(capsys, argv(models, "--prompt", "Hi", "--json", str(tmp_path / "t.json")))
    assert code == 1 and "No space left" in err and os.listdir(tmp_path) == []


def test_no_memory_is_exit_1(models, capsys, monkeypatch):
    def empty(*args):
        raise MemoryError
    monkeypatch.setattr(commands, "load_pair", empty)
    code, out, err = run(capsys, argv(models, "--prompt", "Hi"))
    assert (code, out) == (1, "") and "memory" in err and err.count("\n") == 1


def test_a_package_that_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    code, out, err = run(capsys, ["run", "--prompt", "hello"])
    assert (code, out) == (1, "") and err.count("\n") == 1 and "pip install tqdm." in err


def test_a_module_of_ours_that_is_missing_is_a_bug(monkeypatch):
    monkeypatch.setitem(sys.modules, "core.checkpoints.presets", None)
    with pytest.raises(ModuleNotFoundError):
        main.main(["check", "presets"])


@pytest.mark.parametrize(("module", "args"), [(presets, ["check", "presets"]), (prompts, ["tune", "lookup", "--prompts", "1"])])
def test_shipped_data_that_is_missing_is_named(module, args, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "ASSETS", tmp_path)
    monkeypatch.setattr(module, "FILE", tmp_path / "gone.toml")
    presets.all_.cache_clear()
    try:
        code, out, err = run(capsys, args)
    finally:
        presets.all_.cache_clear()
    assert (code, out) == (1, "")
    assert err == f"specscope: This copy of Specscope is incomplete: {tmp_path / 'gone.toml'} is missing; install it again.\n"


def test_drafts_that_were_not_installed_are_not_the_users_mistake(capsys, tmp_path, monkeypatch):
    from core.checkpoints import load
    monkeypatch.setattr(load, "ASSETS", tmp_path)
    code, out, err = run(capsys, ["run", "--prompt", "hello"])
    assert (code, out) == (1, "") and err.count("\n") == 1 and "incomplete" in err and "smollm2 is missing" in err


def test_ctrl_c_writes_the_trace_so_far(tmp_path):
    folder = tiny.checkpoint(tmp_path / "slow", tokenizer=tiny.tokenizer(), vocab_size=260, max_positions=100_000)
    path = tmp_path / "t.json"
    args = ["run", "--target", str(folder), "--method", "plain", "--prompt", "Hi", "--dtype", "float32", "--threads", "1",
            "--max-new-tokens", "90000", "--no-tables", "--json", str(path)]
    # a shell that starts this suite in the background may ignore SIGINT, and a child inherits that
    child = process(args, {"FORCE_COLOR": "1"}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert child.stdout.read(1), child.stderr.read()        # the first token is out
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and b"Traceback" not in err
    made = trace.read(path)
    assert made.totals.stop == "cancelled" and 0 < made.totals.new_tokens == len(made.emitted_ids) < 90000


@pytest.mark.parametrize("json_", [True, False])
def test_a_reader_that_leaves_is_no_error(models, json_):
    """`| head -c 1`: also where all output fits the buffer and the pipe is found broken at the very end."""
    child = process(argv(models, "--prompt", "Hi", *(["--json", "-"] if json_ else [])))
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(60) == 0 and b"Traceback" not in err and b"Exception ignored" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_behind_stdout(models):
    with open("/dev/full", "w") as full:
        child = process(argv(models, "--prompt", "Hi", "--json", "-"), stdout=full)
        err = child.communicate(timeout=120)[1]
    assert child.returncode == 1 and err.count(b"\n") == 1 and b"No space left" in err


def test_a_locale_without_utf8_and_arguments_that_are_not_utf8(models):
    """What Python makes of bytes on the command line and of its streams before our code runs."""
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    child = process([*argv(models, "--json", "-"), b"--prompt", "Grüße \N{SEEDLING}".encode()], ascii_only)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0 and trace.parse(out.decode("utf-8")).run["prompt"] == "Grüße \N{SEEDLING}", err
    child = process([*argv(models), b"--prompt", b"a\xff"], ascii_only)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 2 and out == b"" and err == b"specscope: --prompt is not UTF-8 text.\n"
