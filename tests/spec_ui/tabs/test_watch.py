"""The Watch tab's events and choices without a browser."""

import json

from spec_ui.tabs import watch
from tests.spec_ui.fake_engine import FakeEngine


def test_events_check_their_input_on_the_server():
    for bad in ("../../etc/passwd", None, 7, ["chat"], {"x": 1}):
        assert json.loads(watch._method(FakeEngine(phase="loading"), bad)[2])["details"] == []


def test_the_address_opens_a_recording_by_its_exact_name_only(folder):
    ndjson, notice = watch.opened(folder, "list-lookup", "en")
    assert '"name":"list-lookup"' in ndjson.splitlines()[0] and "recorded" in notice
    for bad in ("../../etc/passwd", "list", "LIST-LOOKUP", "", 7, ["chat-draft"]):
        got = watch.opened(folder, bad, "ru")
        assert "Записи с таким именем" in json.loads(got[1])["text"] and not isinstance(got[0], str)
    assert not any(isinstance(x, str) for x in watch.opened(folder, None, "en"))
