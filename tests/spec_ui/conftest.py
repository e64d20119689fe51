"""A folder of recorded runs for the tests of what reads them."""

import json

import pytest

from spec_ui.server import recordings
from tests.spec_ui import fake_trace


@pytest.fixture
def folder(tmp_path):
    recordings.load.cache_clear()
    for name in ("chat-draft", "chat-lookup", "list-lookup"):
        (tmp_path / f"{name}.json").write_text(json.dumps(fake_trace.make(prompt=name, limit=12), indent=1), encoding="utf-8")
    (tmp_path / "story-draft.ndjson").write_text("".join(fake_trace.lines(fake_trace.make(prompt="story", limit=12))), encoding="utf-8")
    (tmp_path / "broken-draft.json").write_text("{", encoding="utf-8")
    return tmp_path
