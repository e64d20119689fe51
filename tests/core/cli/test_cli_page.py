"""`specscope page`: help without loading anything, and one sentence where it cannot listen. A page that runs: tests/test_wheel.py."""
from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from core.cli.parser import parser
from tests.core.cli.called import ROOT, run

LIGHT = """
import sys
from core.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
assert not {"torch", "transformers", "gradio", "plotly", "spec_ui"} & set(sys.modules)
"""


@pytest.mark.parametrize("command", ["--help", "page --help", "page --port 0", "train --help", "traces show nothing.json"])
def test_what_needs_no_library_imports_none(command):
    done = subprocess.run([sys.executable, "-c", LIGHT, *command.split()], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_command_has_its_options_when_all_are_asked_for():
    args = parser().parse_args(["run", "--prompt", "x", "--tree", "3x2"])
    assert args.tree == "3x2" and args.act.__name__ == "run"
    assert parser(["page"]).parse_args(["page", "--host", "::1", "--port", " 7860"]).port == 7860


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "", "80.5", "²", "9" * 5000])
def test_a_bad_port(port, capsys, monkeypatch):
    code, out, err = run(capsys, ["page", f"--port={port}"])
    assert (code, out) == (2, "") and err.count("\n") == 1 and "is not a port from 1 to 65535" in err and len(err) < 200
    if port:
        monkeypatch.setenv("GRADIO_SERVER_PORT", port)
        code, out, err = run(capsys, ["page", "--port", "7860"])
        assert (code, out) == (2, "") and err.startswith("specscope: GRADIO_SERVER_PORT: ") and err.count("\n") == 1


@pytest.mark.parametrize("host", ["192.0.2.1", "256.1.1.1", "no such host", "http://x", "a\udcff", "x" * 300, "[::zz]"])
def test_a_host_that_is_none_of_ours(host, capsys, monkeypatch):
    code, out, err = run(capsys, ["page", "--host", host])
    assert (code, out) == (1, "") and err.count("\n") == 1 and err.endswith("choose another --host or --port.\n")
    monkeypatch.setenv("GRADIO_SERVER_NAME", host)
    code, out, err = run(capsys, ["page"])
    assert (code, out) == (1, "") and err.count("\n") == 1 and "port" not in err.removesuffix("--port.\n")


def test_a_port_that_is_taken(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, out, err = run(capsys, ["page", "--port", str(port)])
    assert (code, out) == (1, "") and err.count("\n") == 1 and f"127.0.0.1, port {port}" in err


@pytest.mark.parametrize(("gone", "said"), [
    ("gradio", "This command needs a package that is not installed: pip install gradio."),
    ("spec_ui", "The page is not part of this copy of Specscope: it has the folder core without spec_ui.")])
def test_core_without_the_page(gone, said, capsys, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "spec_ui"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, gone, None)
    assert run(capsys, ["page"]) == (1, "", f"specscope: {said}\n")
