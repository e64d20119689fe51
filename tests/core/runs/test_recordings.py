"""The list of shipped runs, and the shipped runs: readable, consistent, small, made from that list."""
import json

import pytest

from core import trace
from core.checkpoints.load import ASSETS
from core.errors import UserError
from core.methods import registry
from core.methods.settings import complete
from core.runs import prompts, recordings

TRACES = sorted((ASSETS / "traces").glob("*.json"))


@pytest.mark.parametrize("entry", recordings.listed(), ids=recordings.name_of)
def test_listed_runs_name_what_exists(entry):
    request = recordings.request_of(entry)
    complete(registry.get(request.method).settings, request.settings, request.method)
    assert entry["example"] in prompts.shown() and set(entry) <= {"example", "method", "settings", "draft_len", "temperature", "seed",
                                                                     "max_new_tokens", "verify"}


def test_something_is_shipped_and_it_is_small():
    assert TRACES and sum(p.stat().st_size for p in TRACES) <= 4e6


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.stem)
def test_shipped_runs_are_real_and_listed(path):
    read = trace.read(path)
    entry = next(e for e in recordings.listed() if path.stem == recordings.name_of(e))
    assert read.run["method"] == entry["method"] and read.run["prompt"] == prompts.shown()[entry["example"]]
    assert read.run["sampling"]["temperature"] == entry.get("temperature", 0) and read.run["seed"] == entry.get("seed", 0)
    assert len(read.emitted_ids) == read.totals.new_tokens > 20
    assert (read.plain is None) == (entry["method"] == "plain")
    if read.plain:
        assert len(read.plain["elapsed_s"]) == read.totals.new_tokens and read.plain["decode_s"] > 0
    for r in read.rounds:
        for table in r.tables:
            assert abs(sum(table.p) + table.others["p"] - 1) < 1e-3
        assert r.drafted == [] or {d.verdict for d in r.drafted} <= {"accepted", "rejected", "not_reached"}
    assert json.loads(path.read_text())["version"] == 1


def texts(of: str) -> dict[tuple, dict[str, list[int]]]:
    """Prompt, temperature and seed of greedy and coupled shipped runs -> their emitted ids by name."""
    found: dict[tuple, dict[str, list[int]]] = {}
    for path in TRACES:
        run = (read := trace.read(path)).run
        kind = "coupled" if run["verify"] == "coupled" else "greedy" if run["sampling"]["temperature"] == 0 else "sampled"
        if kind == of and run["row_exact"]:
            found.setdefault((run["prompt"], run["sampling"]["temperature"], run["seed"], run["dtype"]), {})[path.stem] = read.emitted_ids
    return found


@pytest.mark.parametrize("kind", ["greedy", "coupled"])
def test_all_methods_wrote_one_text(kind):
    found = texts(kind)
    assert any(len(runs) > 3 for runs in found.values())
    for runs in found.values():
        longest = max(runs.values(), key=len)
        assert all(ids == longest[:len(ids)] for ids in runs.values()), sorted(runs)


def test_a_coupled_run_has_a_name_of_its_own():
    entry = {"example": "chat", "method": "eagle", "temperature": 0.8}
    assert recordings.name_of(entry) == "chat-eagle" and recordings.request_of(entry).options.verify == "chain"
    entry["verify"] = "coupled"
    assert recordings.name_of(entry) == "chat-eagle-coupled" and recordings.request_of(entry).options.verify == "coupled"


def test_an_unknown_name_is_refused(tmp_path):
    class Nothing:
        drafts = {}
    with pytest.raises(UserError, match="no-such-run"):
        recordings.record(Nothing(), tmp_path, "no-such-run")
