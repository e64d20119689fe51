"""`pip install .`, not editable, into an environment of its own: what the wheel holds, and the command line and the page from another folder.
The environment borrows this one's packages; nothing is fetched."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from pathlib import Path

import pytest

from core import trace
from core.checkpoints import embedded
from tests.core import tiny

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ("core", "spec_ui", "assets", "pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")

# Many commands in one process, since each would import torch anew: prints one line of JSON, [exit code, stdout, stderr] of each.
COMMANDS = """
import contextlib, io, json, sys
from pathlib import Path
import core
from core.cli.main import main
assert Path(sys.prefix) in Path(core.__file__).resolve().parents, core.__file__
done = []
for argv in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The environment's folder."""
    root = tmp_path_factory.mktemp("wheel")
    source = root / "source"        # building leaves folders behind, and would take up those that earlier builds left in the checkout
    source.mkdir()
    for name in SOURCE:
        (source / name).symlink_to(ROOT / name)
    env = root / "env"
    venv.create(env, symlinks=os.name == "posix")
    borrowed = [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    (site(env) / "borrowed.pth").write_text("\n".join(borrowed))
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--no-compile", "--quiet"]
    call(env, "python", "-m", "pip", "install", *options, str(source))
    return env


def site(env: Path) -> Path:
    return next(env.rglob("site-packages"))


def program(env: Path, name: str) -> str:
    return str(env / ("Scripts" if os.name == "nt" else "bin") / name)


def elsewhere(env: Path) -> dict:
    """Options of a process far from the checkout."""
    return {"cwd": env.parent, "text": True, "env": {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "GRADIO_SERVER_PORT")}}


def call(env: Path, *command: str) -> str:
    done = subprocess.run([program(env, command[0]), *command[1:]], capture_output=True, timeout=300, **elsewhere(env))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shipped(folder: Path, *left_out: str) -> set[str]:
    """Its files, by their paths below it."""
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix not in (".pyc", ".pyi")}
    return {name for name in found if not name.startswith(left_out)}


def test_the_wheel_holds_what_is_needed_and_no_more(installed):
    got = site(installed)
    assert shipped(got / "core") == shipped(ROOT / "core") and shipped(got / "spec_ui") == shipped(ROOT / "spec_ui")
    logs = [f"smollm2/{p.name}/training.json" for p in (ROOT / "assets" / "smollm2").iterdir()]
    assert shipped(got / "specscope_assets") == shipped(ROOT / "assets", "screenshots/", *logs)
    assert not list(got.glob("spec*/**/*.pyi")) and not (got / "assets").exists()
    facts = next(got.glob("specscope-*.dist-info"))
    assert {p.name for p in (facts / "licenses").iterdir()} == {"LICENSE", "NOTICE"}
    assert "License-Expression: Apache-2.0" in (facts / "METADATA").read_text(encoding="utf-8")


def test_the_command_line_works_from_another_folder(installed, tmp_path):
    embedded.ensure()
    target = tiny.checkpoint(tmp_path / "target", 0, tiny.tokenizer(), vocab_size=260, max_positions=512)
    small = ["--target", str(target), "--draft", str(target), "--dtype", "float32", "--threads", "1", "--device", "cpu"]
    recorded = str(site(installed) / "specscope_assets" / "traces" / "chat-draft.json")
    asked = [["run", *small, "--prompt", "Hi", "--max-new-tokens", "8", "--json", "-"],
             ["run", "--method", "eagle", "--threads", "1", "--prompt", "Name three rivers.", "--max-new-tokens", "4", "--draft-len", "2",
              "--json", "-"],
             ["bench", *small], ["traces", "show", recorded], ["traces", "prepare"], ["check", "presets"]]
    done = json.loads(call(installed, "python", "-c", COMMANDS, json.dumps(asked)).splitlines()[-1])
    assert [code for code, _, _ in done] == [0] * len(asked), done
    of_tiny, of_embedded = (trace.parse(out) for _, out, _ in done[:2])
    assert of_tiny.totals.new_tokens == 8 and of_embedded.totals.new_tokens == 4
    assert of_embedded.run["draft"] == "smollm2/eagle" and any(r.drafted for r in of_embedded.rounds)
    assert "verifying 5 tokens" in done[2][1] and "stopped by" in done[3][2] and "Ready: " in done[4][1] and "--pair smollm2-hub" in done[5][1]


def test_the_page_is_served_from_another_folder(installed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    page = subprocess.Popen([program(installed, "specscope"), "page", "--port", str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            **elsewhere(installed))
    try:
        html = fetch(url, page)
        config = json.loads(fetch(url + "config", page))
    finally:
        page.kill()
        page.wait()
    assert "gradioPlayer" in html and ".ss-tok" in html, "the player's script and its style sheets"
    player = next(c["props"] for c in config["components"] if c["props"].get("elem_id") == "player")
    assert json.loads(player["value"].split("\n", 1)[0])["source"] == "recorded" and trace.parse(player["value"]).rounds
    assert len(player["props"]["runs"]) == len(list((ROOT / "assets" / "traces").glob("*.json")))


def fetch(url: str, page: subprocess.Popen) -> str:
    """The answer, as soon as somebody listens."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while page.poll() is None:
        try:
            return direct.open(url, timeout=60).read().decode()
        except OSError:
            time.sleep(0.1)
    raise AssertionError(page.stdout.read())
