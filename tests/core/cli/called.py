"""Calling the command line: in this process, which tests do wherever they can, or as a process of its own."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from core import trace
from core.cli import main

ROOT = Path(__file__).resolve().parents[3]
VOCAB = {"vocab_size": 260, "max_positions": 256}


def argv(models: Path, *more: str, command: str = "run", draft: str = "draft") -> list[str]:
    """A command on the tiny checkpoints of the fixture `models`."""
    return [command, "--target", str(models / "target"), "--draft", str(models / draft), "--dtype", "float32", "--threads", "1", "--device", "cpu",
            "--max-new-tokens", "12", *more]


def run(capsys, args: list[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command in this process."""
    code = main.main(args)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def traced(capsys, args: list[str]) -> trace.Trace:
    """The trace that the command writes to stdout."""
    code, out, err = run(capsys, [*args, "--json", "-"])
    assert code == 0, err
    return trace.parse(out)


def process(args: list, env: dict[str, str] | None = None, **options) -> subprocess.Popen:
    """The command as a process that writes into pipes."""
    return subprocess.Popen([sys.executable, "-m", "core.cli", *args], cwd=ROOT, env=os.environ | (env or {}),
                            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options)
