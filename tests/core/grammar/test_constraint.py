"""What the user's options become, and the sentence for what cannot be read."""
from __future__ import annotations

import json

import pytest

from core.errors import UserError
from core.grammar.constraint import Constraint


def test_records_are_read_again(tmp_path):
    schema = {"type": "object", "properties": {"é": {"const": "a, b"}}}
    file = tmp_path / "s.json"
    file.write_text(json.dumps(schema), encoding="utf-8")
    for made in (Constraint.chosen(str(file), None, []), Constraint.chosen(None, "a{2}", []), Constraint.chosen(None, None, ["yes, no,yes"])):
        assert Constraint.of(**json.loads(json.dumps(made.as_record()))) == made
    assert Constraint.chosen(str(file), None, []).as_record() == {"kind": "json_schema", "value": schema}
    assert Constraint.chosen(None, None, []) is None


def test_choices():
    assert Constraint.chosen(None, None, ["yes, no,yes"]).as_record()["value"] == ["yes", "no"]
    assert Constraint.chosen(None, None, ["yes, please", "no"]).as_record()["value"] == ["yes, please", "no"]


@pytest.mark.parametrize("kind, value, said", [
    ("json_schema", '{"type":', "not JSON"), ("json_schema", "[1]", "object"), ("json_schema", "[" * 20_000, "not JSON"), ("regex", "", "empty"),
    ("regex", "\ud800", "UTF-8"), ("choice", [], "empty choice"), ("choice", ["a", " "], "empty choice"), ("choice", "ab", "wants texts"),
    ("choice", [1], "wants texts"), ("regex", "a" * 100_001, "characters"), ("lark", "x", "one of")])
def test_mistakes(kind, value, said):
    with pytest.raises(UserError, match=said):
        Constraint.of(kind, value)


def test_mistakes_of_the_command_line(tmp_path):
    with pytest.raises(UserError, match="Give one of --json-schema and --choice"):
        Constraint.chosen("x", None, ["a"])
    with pytest.raises(UserError, match="Cannot read"):
        Constraint.chosen(str(tmp_path / "none.json"), None, [])
    (tmp_path / "bad.json").write_bytes(b"\xff")
    with pytest.raises(UserError, match="UTF-8"):
        Constraint.chosen(str(tmp_path / "bad.json"), None, [])
