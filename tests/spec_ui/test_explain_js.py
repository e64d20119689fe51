"""The pure functions of the tabs that explain, against core.measuring.theory and a trace, by Node's own test runner."""

import json
from pathlib import Path

import pytest

from core.measuring import theory
from spec_ui.server import run_list
from tests.spec_ui import fake_trace
from tests.spec_ui.test_js import EXPLAIN, node, run_tests


@pytest.fixture(scope="module")
def explain(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    trace = fake_trace.make()
    (folder / "chat-draft.json").write_text(json.dumps(trace), encoding="utf-8")
    cases = [(a, k, c, v) for a in (0.0, 0.05, 0.4, 0.83, 1.0) for k in (1, 2, 4, 7, 10) for c, v in ((0.0, 1.0), (0.1, 1.13), (0.6, 2.4))]
    v = [1 + 0.04 * k for k in range(11)]
    data = {
        "theory": [
            {
                "alpha": a,
                "k": k,
                "c": c,
                "v": v,
                "tokens": theory.expected_tokens(a, k),
                "speed": theory.speedup(a, k, c, v),
                "even": theory.break_even(k, c, v),
            }
            for a, k, c, v in cases
        ],
        "best": [{"alpha": a, "c": c, "v": v, "best": theory.best_length(a, c, v)} for a in (0.1, 0.5, 0.9) for c in (0.02, 0.3)],
        "ndjson": "".join(fake_trace.lines(trace)),
        "entry": run_list.load(folder)[0],
    }
    path = folder / "data.txt"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.skipif(node() is None, reason="No Node: pip install playwright (its package carries one).")
@pytest.mark.parametrize("name", EXPLAIN)
def test_pure_functions(name, explain):
    run_tests(name, SPECSCOPE_EXPLAIN=str(explain))
