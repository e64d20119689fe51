"""`specscope compare`, `specscope traces show` and --help."""
from __future__ import annotations

import json

import pytest

from core.cli import main
from tests.core.cli.called import argv, run


def test_compare(models, capsys, tmp_path):
    args = argv(models, "--prompt", "Hi", "--methods", "draft, draft,plain", "--repeats", "2", command="compare")
    code, out, _ = run(capsys, [*args, "--json", "-"])
    data = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    assert set(data) >= {"version", "run", "results", "plain", "repeats"} and data["version"] == 1 and data["repeats"] == 2
    assert [r["method"] for r in data["results"]] == ["draft", "plain"]
    for r in data["results"]:
        assert r["identical"] is True and r["first_difference"] is None and r["totals"]["new_tokens"] == 12 == data["plain"]["new_tokens"]
        assert r["spread"][0] <= r["spread"][1] and r["ratio"] > 0
    code, out, _ = run(capsys, [*args, "--json", str(tmp_path / "c.json")])
    assert code == 0 and "identical" in out and json.loads((tmp_path / "c.json").read_text())["repeats"] == 2


def test_compare_of_sampled_runs_does_not_claim_identity(models, capsys):
    code, out, _ = run(capsys, argv(models, "--prompt", "Hi", "--temperature", "1", "--repeats", "1", "--json", "-", command="compare"))
    assert code == 0 and json.loads(out)["results"][0]["identical"] is None


def test_compare_of_coupled_runs_claims_identity(models, capsys):
    args = argv(models, "--prompt", "Hi", "--temperature", "1", "--verify", "coupled", "--repeats", "1", command="compare")
    code, out, _ = run(capsys, [*args, "--json", "-"])
    data = json.loads(out)
    assert code == 0 and data["run"]["verify"] == "coupled"
    assert data["results"][0]["identical"] is True or data["results"][0]["first_difference"]["race_gap"] < 1e-3


def test_traces_show(models, capsys, tmp_path):
    path = str(tmp_path / "t.ndjson")
    _, out, err = run(capsys, argv(models, "--prompt", "Hi", "--json", path))
    assert run(capsys, ["traces", "show", path]) == (0, out, err)


@pytest.mark.parametrize("command", ["", "run", "compare", "page", "traces", "traces record", "bench", "check", "check gpu", "tune", "train"])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as left:
        main.main([*command.split(), "--help"])
    assert left.value.code == 0 and f"usage: specscope {command}".rstrip() in capsys.readouterr().out
