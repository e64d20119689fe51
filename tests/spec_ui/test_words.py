"""The page's words: every language has the same keys, and one name for each method and setting on the server and in the scripts."""

import ast
import json
import string
import subprocess
from pathlib import Path

import pytest

from core.errors import Failure
from core.methods import catalog, registry
from spec_ui import words
from tests.assets.test_js import node

ROOT = Path(__file__).resolve().parents[2]


def test_every_language_has_the_same_keys_and_values():

    def fields(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english = words.table("en")
    assert len(words.LANGUAGES) >= 2 and words.names()[0] == ("English", "en")
    for lang in words.LANGUAGES:
        assert set(words.table(lang)) == set(english), lang
        assert [k for k in english if fields(words.table(lang)[k]) != fields(english[k])] == []
    assert words.clean("../en") == words.clean(None) == words.clean(["ru"]) == "en"


@pytest.fixture(scope="module")
def drawn() -> dict:
    """What the scripts say, by language: their words without the sentences that are functions."""
    if node() is None:
        pytest.skip("No Node: pip install playwright (its package carries one).")
    module = ROOT / "assets/js/words/languages.js"
    code = "process.stdout.write(JSON.stringify((await import(process.argv[1])).LANGUAGES));"
    for flags in (["--experimental-default-type=module"], []):
        run = subprocess.run([node(), *flags, "--input-type=module", "-e", code, module.as_uri()], text=True, capture_output=True, timeout=60)
        if run.returncode == 0:
            break
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def test_a_method_has_one_name_everywhere_and_a_card_and_a_hint(drawn):
    assert [words.text("en", f"method.{name}") for name in catalog.LABELS] == list(catalog.LABELS.values())
    assert set(drawn) == set(words.LANGUAGES)
    for lang, parts in drawn.items():
        said = parts["methods"]
        assert said["names"] == {name: words.text(lang, f"method.{name}") for name in catalog.LABELS}, lang
        assert set(said["hints"]) == set(said["cards"]) == set(catalog.LABELS), lang
        for name, hint in said["hints"].items():
            assert 3 < len(hint) <= 60 and hint != said["names"][name], (lang, name)


def test_a_setting_has_one_name_everywhere(drawn):
    for name in registry.all_settings():
        for lang, parts in drawn.items():
            assert parts["player"]["settings"][name][0] == words.setting(lang, name), (lang, name)


def test_the_draft_length_is_also_called_what_vllm_calls_it(drawn):
    for lang, parts in drawn.items():
        assert "num_speculative_tokens" in words.text(lang, "draft_len.info"), lang
        assert "num_speculative_tokens" in parts["player"]["glossary"]["draft length"][1], lang
        assert "num_speculative_tokens" in parts["methods"]["length"], lang


def test_every_reason_the_engine_gives_has_words():
    """Each UserError with a reason, as it stands in the source, says its values in every language."""

    reasons = {}
    for path in sorted((ROOT / "core").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            raised = isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("UserError", "EnvironmentFailure") and call.args[1:]
            if raised and isinstance(raised[0], ast.Constant):
                reasons[raised[0].value] = {k.arg: "tree" if k.arg in ("setting", "other") else k.arg for k in call.keywords}
    assert {f"wrong.{reason}" for reason in reasons} == {key for key in words.table("en") if key.startswith("wrong.")}
    for reason, values in reasons.items():
        for lang in words.LANGUAGES:
            said = words.failure(Failure("--tree", reason, **values), lang)
            assert said.endswith(".") and "--" not in said and (values.get("setting") is None or words.setting(lang, "tree") in said)
