"""The page's parts without a browser: recordings, examples, launch arguments, bundle, and what must never be imported."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spec_ui.server import bundle, examples, recordings
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import FakeEngine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    recordings.load.cache_clear()
    for name in ("chat-draft", "chat-lookup", "list-lookup"):
        (tmp_path / f"{name}.json").write_text(json.dumps(fake_trace.make(prompt=name, limit=12), indent=1), encoding="utf-8")
    (tmp_path / "story-draft.ndjson").write_text("".join(fake_trace.lines(fake_trace.make(prompt="story", limit=12))), encoding="utf-8")
    (tmp_path / "broken-draft.json").write_text("{", encoding="utf-8")
    return tmp_path


def test_recordings_are_found_by_example_and_method(folder):
    assert set(recordings.load(folder)) == {"chat-draft", "chat-lookup", "list-lookup", "story-draft"}
    assert recordings.first(folder)[0] == "chat"
    assert recordings.prompt_of(recordings.load(folder)["list-lookup"]) == "list-lookup"
    lines = [json.loads(x) for x in recordings.load(folder)["chat-draft"].splitlines()]
    assert lines[0]["source"] == "recorded" and "totals" in lines[-1] and all("emitted" in x for x in lines[1:-1])


def test_an_empty_folder_is_no_error(tmp_path):
    assert recordings.first(tmp_path) == (None, "") and recordings.prompt_of("") == ""


def test_six_examples_fit_the_limits():
    from spec_ui.server.limits import check_prompt

    found = examples.load()
    assert list(found) == ["chat", "list", "story", "code", "edit", "summary"]
    for name, prompt in found.items():
        check_prompt(prompt)
        if name in ("edit", "summary"):
            assert 120 <= len(prompt.split("\n\n", 1)[1].split()) <= 200


def test_importing_the_page_touches_no_model_library():
    code = "\n".join(
        (
            "import os, sys, spec_ui.page",
            "assert not {'torch', 'transformers', 'gguf'} & set(sys.modules)",
            "assert os.environ['GRADIO_ANALYTICS_ENABLED'] == 'False'",
        )
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr[-800:]


def test_core_never_imports_gradio_and_the_page_never_imports_torch():
    for path in (ROOT / "core").rglob("*.py"):
        assert "import gradio" not in path.read_text(encoding="utf-8"), path
    for path in (ROOT / "spec_ui").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import torch" not in text and "transformers" not in text.replace("never imports torch or transformers", "").replace(
            "imports torch or transformers", ""
        ), path


def test_the_bundle_is_one_script_that_can_stand_inline():
    script = bundle.script()
    assert "</script" not in script.lower() and "import {" not in script and "\nexport " not in script
    order = list(bundle.modules())
    assert order[-1] == bundle.ENTRY and order.index("trace/trace.js") < order.index("trace/steps.js") < order.index("watch/player.js")
    assert "</style" not in bundle.styles("player", "frame", "page").lower()
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://"):
        assert danger not in script.replace("http://www.w3.org/2000/svg", ""), danger
    for sheet in ("player", "frame", "page"):
        assert "url(" not in bundle.styles(sheet) and "@import" not in bundle.styles(sheet)


def test_nothing_on_the_page_comes_from_outside_and_templates_are_constant():
    from spec_ui.page import LAUNCH_KWARGS, build

    assert LAUNCH_KWARGS["ssr_mode"] is False and LAUNCH_KWARGS["run_history"] is False and LAUNCH_KWARGS["footer_links"] == []
    demo = build(FakeEngine(), ROOT / "nowhere")
    config = demo.get_config_file()
    ids = {c["props"].get("elem_id") for c in config["components"]}
    assert {"prompt", "method", "draft-len", "temperature", "top-p", "seed", "max-new", "run", "stop", "player"} <= ids
    for c in config["components"]:
        if c["type"] == "html" and c["props"].get("elem_id") in ("player", "notice", "model-state", "settings", "lesson"):
            assert "$" not in c["props"]["html_template"] and "{" not in c["props"]["html_template"]
    queued = [d for d in config["dependencies"] if d["queue"] is not False]
    assert [d["api_name"] for d in queued] == ["run", "branch", "measure"], "only what needs the model may wait in the queue"
    assert demo.max_size == 40 if hasattr(demo, "max_size") else demo._queue.max_size == 40
    assert demo.analytics_enabled is False


def test_events_check_their_input_on_the_server():
    from spec_ui.tabs import watch

    for bad in ("../../etc/passwd", None, 7, ["chat"], {"x": 1}):
        assert json.loads(watch._method(FakeEngine(phase="loading"), bad)[2])["details"] == []


def test_every_language_has_the_same_keys_and_values():
    import string

    from spec_ui import words

    def fields(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english = words.table("en")
    assert len(words.LANGUAGES) >= 2 and words.names()[0] == ("English", "en")
    for lang in words.LANGUAGES:
        assert set(words.table(lang)) == set(english), lang
        assert [k for k in english if fields(words.table(lang)[k]) != fields(english[k])] == []
    assert words.clean("../en") == words.clean(None) == words.clean(["ru"]) == "en"


def test_the_address_opens_a_recording_by_its_exact_name_only(folder):
    from spec_ui.tabs import watch

    ndjson, notice = watch.opened(folder, "list-lookup", "en")
    assert '"name":"list-lookup"' in ndjson.splitlines()[0] and "recorded" in notice
    for bad in ("../../etc/passwd", "list", "LIST-LOOKUP", "", 7, ["chat-draft"]):
        got = watch.opened(folder, bad, "ru")
        assert "Записи с таким именем" in json.loads(got[1])["text"] and not isinstance(got[0], str)
    assert not any(isinstance(x, str) for x in watch.opened(folder, None, "en"))


def test_the_address_of_the_whole_page_is_checked(folder):
    from types import SimpleNamespace

    from spec_ui.page import build

    demo = build(FakeEngine(phase="loading"), folder)
    opened = next(f.fn for f in demo.fns.values() if getattr(f.fn, "__name__", "") == "opened")

    def ask(**query):
        return opened(query.get("lang"), SimpleNamespace(query_params=query))

    plain, bad = ask(), ask(lang="__import__", tab="admin", run="x" * 5000)
    assert len(plain) == len(bad)
    assert not any(isinstance(x, str) for x in plain)
    russian = ask(lang="ru", tab="lesson", run="chat-draft")
    assert russian[-1]["value"] == "ru" and russian[-1]["label"] == "Язык" and russian[-2].selected == "lesson" and "Маленькая модель" in russian[0]


def test_the_page_has_its_own_words_for_every_method_and_setting():
    from core.methods import catalog, registry
    from spec_ui import words

    for name in catalog.LABELS:
        assert f"method.{name}" in words.table("en")
        for lang in words.LANGUAGES:
            cards = (ROOT / f"assets/js/words/{lang}/methods.js").read_text(encoding="utf-8")
            assert re.search(rf'^ +"?{re.escape(name)}"?: {{\s+proposes:\s+"', cards, re.MULTILINE), "what a chip says of its method"
    for name in registry.all_settings():
        for lang in words.LANGUAGES:
            drawn = (ROOT / f"assets/js/words/{lang}/watch.js").read_text(encoding="utf-8")
            assert re.search(rf'\b{name}: \[\s*"{re.escape(words.setting(lang, name))}",', drawn), "the field and what is said of it have one name"


def test_a_notice_is_said_again_in_another_language():
    from spec_ui import words
    from spec_ui.components.notice import again, say

    recorded = say(words.text("en", "said.recorded"))
    assert json.loads(again(recorded, "ru")) == {"kind": "info", "text": words.text("ru", "said.recorded")}
    assert again(again(recorded, "ru"), "en") == recorded
    assert json.loads(again(say(words.text("ru", "live.failed"), "error"), "en"))["kind"] == "error"
    for bad in (None, 7, "", "[]", '"x"', "{", '{"text": {"a": 1}, "kind": []}', say("not ours"), "[" * 3000):
        assert json.loads(again(bad, "ru")) == {"kind": "info", "text": ""}


def test_every_reason_the_engine_gives_has_words():
    """Each UserError with a reason, as it stands in the source, says its values in every language."""
    import ast

    from core.errors import Failure
    from spec_ui import words

    reasons = {}
    for path in sorted((ROOT / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            raised = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("UserError", "EnvironmentFailure") and node.args[1:]
            if raised and isinstance(raised[0], ast.Constant):
                reasons[raised[0].value] = {k.arg: "tree" if k.arg in ("setting", "other") else k.arg for k in node.keywords}
    assert {f"wrong.{reason}" for reason in reasons} == {key for key in words.table("en") if key.startswith("wrong.")}
    for reason, values in reasons.items():
        for lang in words.LANGUAGES:
            said = words.failure(Failure("--tree", reason, **values), lang)
            assert said.endswith(".") and "--" not in said and (values.get("setting") is None or words.setting(lang, "tree") in said)
