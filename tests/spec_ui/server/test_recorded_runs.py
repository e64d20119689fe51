"""The recorded runs and the examples, as the server reads them."""

import json

from core.runs import prompts
from spec_ui.server import recordings
from spec_ui.server.limits import check_prompt


def test_recordings_are_found_by_example_and_method(folder):
    assert set(recordings.load(folder)) == {"chat-draft", "chat-lookup", "list-lookup", "story-draft"}
    assert recordings.first(folder)[0] == "chat"
    assert recordings.prompt_of(recordings.load(folder)["list-lookup"]) == "list-lookup"
    lines = [json.loads(x) for x in recordings.load(folder)["chat-draft"].splitlines()]
    assert lines[0]["source"] == "recorded" and "totals" in lines[-1] and all("emitted" in x for x in lines[1:-1])


def test_an_empty_folder_is_no_error(tmp_path):
    assert recordings.first(tmp_path) == (None, "") and recordings.prompt_of("") == ""


def test_six_examples_fit_the_limits():
    found = prompts.examples()
    assert list(found) == ["chat", "list", "story", "code", "edit", "summary"]
    for name, prompt in found.items():
        check_prompt(prompt)
        if name in ("edit", "summary"):
            assert 120 <= len(prompt.split("\n\n", 1)[1].split()) <= 200
