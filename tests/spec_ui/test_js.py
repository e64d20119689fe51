"""The player's pure functions, tested by Node's own test runner (the Node that playwright's package carries, else `node` on PATH)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.spec_ui import fake_trace

HERE = Path(__file__).resolve().parent
EXPLAIN = ("theory", "lossless", "explain")  # test_explain_js.py runs these, with data of their own
NAMES = sorted({p.name.removesuffix(".test.mjs") for p in (HERE / "js").iterdir()} - set(EXPLAIN))  # found, so that none is forgotten


def node() -> str | None:
    try:
        import playwright
    except ImportError:
        return shutil.which("node")
    carried = Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node")
    return str(carried) if carried.exists() else shutil.which("node")


def run_tests(name: str, **env: str) -> None:
    """One file of tests under Node. Plain Node takes `.js` files without a package.json for modules only by detection or this flag."""
    for flags in (["--experimental-default-type=module"], []):
        command = [node(), *flags, "--test", str(HERE / "js" / f"{name}.test.mjs")]
        run = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **env}, timeout=180)
        if "bad option" not in run.stderr:
            break
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert "# pass 0" not in run.stdout and "pass" in run.stdout


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> Path:
    data = {}
    for name, options in {"sampled": {}, "greedy": {"temperature": 0}, "tree": {"temperature": 0, "tree": True}}.items():
        trace = fake_trace.make(**options)
        data[name] = {"file": trace, "ndjson": "".join(fake_trace.lines(trace))}
    path = tmp_path_factory.mktemp("js") / "traces.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.skipif(node() is None, reason="No Node: pip install playwright (its package carries one).")
@pytest.mark.parametrize("name", NAMES)
def test_pure_functions(name, traces):
    run_tests(name, SPECSCOPE_TRACES=str(traces))
