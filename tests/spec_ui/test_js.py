"""The player's pure functions, tested by Node's own test runner (the Node that playwright's package carries, else `node` on PATH)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.spec_ui import fake_trace

HERE = Path(__file__).resolve().parent


def node() -> str | None:
    try:
        import playwright
    except ImportError:
        return shutil.which("node")
    carried = Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node")
    return str(carried) if carried.exists() else shutil.which("node")


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
@pytest.mark.parametrize("name", ["trace", "steps", "words", "whatif", "share", "lesson", "languages", "printed"])
def test_pure_functions(name, traces, tmp_path):
    # Plain Node takes `.js` files without a package.json for modules only by detection or this flag.
    run = subprocess.run(
        [node(), "--experimental-default-type=module", "--test", str(HERE / "js" / f"{name}.test.mjs")],
        text=True,
        capture_output=True,
        env={**os.environ, "SPECSCOPE_TRACES": str(traces)},
        timeout=120,
    )
    if "bad option" in run.stderr:
        run = subprocess.run(
            [node(), "--test", str(HERE / "js" / f"{name}.test.mjs")],
            text=True,
            capture_output=True,
            env={**os.environ, "SPECSCOPE_TRACES": str(traces)},
            timeout=120,
        )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert "# pass 0" not in run.stdout and "pass" in run.stdout
