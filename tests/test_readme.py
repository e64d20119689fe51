"""What README says of the tree: the files it names exist, and every method has a row with its code and its tests."""
from __future__ import annotations

import re
from pathlib import Path

from core.methods import registry

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_path_exists():
    named = set(re.findall(r"(?:core|spec_ui|assets|tests)/[\w./-]*\w/?", README))
    assert len(named) > 25 and [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_room_of_core_is_on_the_map():
    rooms = {f"core/{p.parent.name}/" for p in (ROOT / "core").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `(core/\w+/)` \|", README, re.MULTILINE))


def test_every_method_has_its_code_its_picture_and_its_tests():
    rows = re.findall(r"^\| (`[^|]*`) \| (`[^|]*\.py`[^|]*) \| (`test_[^|]*) \|$", README, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(names) == sorted(registry.METHODS)
    for name, code, tests in rows:
        source = (ROOT / "core" / "methods" / re.search(r"\w+\.py", code)[0]).read_text(encoding="utf-8")
        drawn = re.search(r"^Drawn by (assets/js/[\w/]+\.js)", source, re.MULTILINE)
        assert name == "`plain`" or (ROOT / drawn[1]).is_file()
        assert all((ROOT / "core" / "methods" / file).is_file() for file in re.findall(r"\w+\.py", code)), code
        assert all((ROOT / "tests" / "core" / "methods" / file).is_file() for file in re.findall(r"\w+\.py", tests)), tests


def test_every_command_is_named():
    from core.cli.parser import COMMANDS
    assert [name for name in COMMANDS if f"specscope {name}" not in README] == []
