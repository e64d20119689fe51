"""The real `spaces` and a CUDA build of torch, on a machine without a GPU: what it intercepts, packs, forks and pickles, all but CUDA itself."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from core.runs import zerogpu

ROOT = Path(__file__).resolve().parents[3]


def space(*how):
    done = subprocess.run([sys.executable, "-m", "tests.core.libraries.zero_space", *how], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_runs_in_forked_workers_from_packed_weights():
    got = space()
    assert got["phase"] == "ready" and got["left"] == [] and got["packed"] > 0
    ids = got["runs"]["plain"][0]
    assert len(ids) == 9 and got["runs"] == {name: [ids, name != "plain"] for name in got["methods"]} and got["again"] == [ids, True]
    assert got["mistake"][0] == "UserError" and "--temperature" in got["mistake"][1]
    assert got["refused"][0] == "EnvironmentFailure" and "GPU" in got["refused"][1] and set(got["steps"]) == set(got["methods"])
    asked = [int(seconds) for path, seconds, _ in got["calls"] if path == "/schedule"]
    assert set(asked) == {11, 12, 22, 60}       # plain, both, sixty tokens, calibration: what `duration` said of each
    assert [path for path, _, _ in got["calls"]].count("/allow") == len(asked) - 1
    assert {fail for path, _, fail in got["calls"] if path == "/release"} == {"false"}


def test_heads_move_whole():
    got = space("heads")
    assert {"eagle", "medusa"} <= set(got["methods"]) and got["left"] == [] and got["tensors"] > 40 and got["packed"] > 0


def test_elsewhere_the_decorator_changes_nothing():
    import spaces
    assert spaces.GPU(duration=zerogpu.duration)(zerogpu.decode) is zerogpu.decode
