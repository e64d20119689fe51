"""A notice in another language, whatever the browser sent as the old one."""

import json

from spec_ui import words
from spec_ui.server.notices import again, say


def test_a_notice_is_said_again_in_another_language():
    recorded = say(words.text("en", "said.recorded"))
    assert json.loads(again(recorded, "ru")) == {"kind": "info", "text": words.text("ru", "said.recorded")}
    assert again(again(recorded, "ru"), "en") == recorded
    assert json.loads(again(say(words.text("ru", "live.failed"), "error"), "en"))["kind"] == "error"
    for bad in (None, 7, "", "[]", '"x"', "{", '{"text": {"a": 1}, "kind": []}', say("not ours"), "[" * 3000):
        assert json.loads(again(bad, "ru")) == {"kind": "info", "text": ""}
