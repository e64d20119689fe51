"""The list of recorded runs: what each run came to, in the one order that every tab shows."""

import json

from core.methods import catalog
from spec_ui.server import run_list
from tests.spec_ui import fake_trace


def test_recordings_are_listed_with_what_they_came_to(tmp_path):
    trace = fake_trace.make()
    (tmp_path / "chat-draft.json").write_text(json.dumps(trace), encoding="utf-8")
    (tmp_path / "story-draft.ndjson").write_text("".join(fake_trace.lines(trace)), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("private", encoding="utf-8")
    chat, story = run_list.load(tmp_path)
    assert (chat["name"], chat["example"], chat["method"], story["example"]) == ("chat-draft", "chat", "draft", "story")
    assert chat["tested"] == trace["totals"]["tested"] and chat["tokens_per_round"] == trace["totals"]["tokens_per_round"]
    assert (chat["verify"], chat["seed"], chat["temperature"]) == ("chain", 7, 0.7)
    assert chat["ratio"] == story["ratio"] > 0 and chat["cost"] > 1
    assert [p.name for p in run_list.files(tmp_path)] == ["chat-draft.json", "story-draft.ndjson"]


def test_a_recording_without_plain_or_with_odd_facts_does_no_harm(tmp_path):
    trace = fake_trace.make(limit=8)
    (tmp_path / "a-draft.json").write_text(json.dumps(trace | {"plain": None}), encoding="utf-8")
    (tmp_path / "b-draft.json").write_text(json.dumps(trace | {"totals": {}, "run": {"sampling": {}}}), encoding="utf-8")
    (tmp_path / "c-draft.json").write_text(json.dumps(trace | {"totals": []}), encoding="utf-8")
    found = {r["name"]: r for r in run_list.load(tmp_path)}
    assert found["a-draft"]["ratio"] is None and found["a-draft"]["cost"] is None
    assert found["b-draft"]["tested"] == 0 and found["b-draft"]["method"] == ""
    assert "c-draft" not in found


def test_one_order_by_example_and_then_by_method(tmp_path):
    for example in ("story", "odd", "chat"):
        for method in ("unheard-of", *sorted(catalog.LABELS)):
            trace = fake_trace.make(limit=4)
            trace["run"]["method"] = method
            (tmp_path / f"{example}-{method}.json").write_text(json.dumps(trace), encoding="utf-8")
    expected = [(example, method) for example in ("chat", "story", "odd") for method in (*catalog.LABELS, "unheard-of")]
    assert [(r["example"], r["method"]) for r in run_list.load(tmp_path)] == expected
