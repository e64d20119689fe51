"""The page's pure functions, tested by Node's own test runner (the Node that playwright's package carries, else `node` on PATH)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from core.measuring import theory
from spec_ui.server import run_list
from tests.spec_ui import fake_trace

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "assets" / "js"
TESTS = sorted((HERE / "js").rglob("*.test.mjs"))
# All files in one process where Node can do that. Older ones take `.js` files for modules only by detection or by a flag.
FLAGS = (["--test-isolation=none"], ["--experimental-default-type=module"], [])
LONGEST = 150


def node() -> str | None:
    try:
        import playwright
    except ImportError:
        return shutil.which("node")
    carried = Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node")
    return str(carried) if carried.exists() else shutil.which("node")


def traces() -> dict:
    """A sampled, a greedy and a tree run, and coupled ones (two of one seed, one of another): each the object of a file and the text of a stream."""
    made = {name: fake_trace.make(**options) for name, options in
            {"sampled": {}, "greedy": {"temperature": 0}, "tree": {"temperature": 0, "tree": True}, "coupled": {"coupled": True},
             "coupled short": {"coupled": True, "draft_len": 1}, "coupled other": {"coupled": True, "seed": 8}}.items()}
    return {name: {"file": trace, "ndjson": "".join(fake_trace.lines(trace))} for name, trace in made.items()}


def closed_forms() -> dict:
    """What core.measuring.theory computes, for the same functions in JavaScript."""
    pass_costs = [1 + 0.04 * k for k in range(11)]
    cases = [{"alpha": alpha, "k": k, "c": c, "v": v} for alpha in (0.0, 0.05, 0.4, 0.83, 1.0) for k in (1, 2, 4, 7, 10)
             for c, v in ((0.0, 1.0), (0.1, 1.13), (0.6, 2.4))]
    for case in cases:
        alpha, k, c, v = case.values()
        case.update(tokens=theory.expected_tokens(alpha, k), speed=theory.speedup(alpha, k, c, v), even=theory.break_even(k, c, v))
    best = [{"alpha": alpha, "c": c, "v": pass_costs, "best": theory.best_length(alpha, c, pass_costs)}
            for alpha in (0.1, 0.5, 0.9) for c in (0.02, 0.3)]
    return {"theory": cases, "best": best}


@pytest.fixture
def data(tmp_path) -> Path:
    """What the tests in JavaScript read: runs, closed forms, and the entry that the server's list has for the sampled run."""
    made = traces()
    (tmp_path / "chat-draft.json").write_text(json.dumps(made["sampled"]["file"]), encoding="utf-8")
    path = tmp_path / "data.txt"
    path.write_text(json.dumps({"traces": made, "entry": run_list.load(tmp_path)[0], **closed_forms()}), encoding="utf-8")
    return path


@pytest.mark.skipif(node() is None, reason="No Node: pip install playwright (its package carries one).")
def test_pure_functions(data):
    for flags in FLAGS:
        command = [node(), *flags, "--test", "--test-reporter=tap", *map(str, TESTS)]
        run = subprocess.run(command, text=True, capture_output=True, env={**os.environ, "SPECSCOPE_JS_DATA": str(data)}, timeout=300)
        if "bad option" not in run.stderr:
            break
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    written = {path: len(re.findall(r"^test\(", path.read_text(encoding="utf-8"), re.M)) for path in TESTS}
    assert min(written.values()) > 0, f"a file without a test: {written}"
    assert int(re.search(r"^# pass (\d+)$", run.stdout, re.M)[1]) >= sum(written.values()), run.stdout[-2000:]


def test_no_line_is_longer_than_150_characters():
    long = [f"{path}:{n}" for path in [*SCRIPTS.rglob("*.js"), *(HERE / "js").rglob("*.mjs")]
            for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > LONGEST]
    assert not long, f"{len(long)} lines: {long[:20]}"
