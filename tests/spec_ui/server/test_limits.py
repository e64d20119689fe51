"""What a visitor may ask for; every refusal is one sentence."""

import json
import math

import pytest

from core.errors import UserError
from core.runs.engine import RunRequest
from spec_ui import words
from spec_ui.server.limits import Refused, check, check_branch, check_grammar, check_settings
from tests.spec_ui.fake_engine import DETAILS

KNOWN = ["draft", "plain"]
GOOD = {"prompt": "hello", "method": "draft", "draft_len": 4, "temperature": 0.7, "top_p": 1, "seed": 0, "max_new": 96}


def ask(settings=None, branch=None, **changes):
    return check(*{**GOOD, **changes}.values(), known=KNOWN, settings=settings, details=DETAILS, branch=branch)[0]


def test_good_requests_pass():
    assert ask() == RunRequest("hello", "draft", 4, 0.7, 1.0, 0, 96, True)
    for edge in (
        {"draft_len": 1},
        {"draft_len": 10},
        {"temperature": 0},
        {"temperature": 2},
        {"top_p": 0.01},
        {"seed": 2**32 - 1},
        {"max_new": 1},
        {"max_new": 256},
        {"prompt": "x" * 4000},
        {"draft_len": 4.0},
        {"draft_len": "auto"},
        {"prompt": "</s> ${x} {{x}} \\ \u202e"},
    ):
        ask(**edge)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": ""},
        {"prompt": " \n\t"},
        {"prompt": None},
        {"prompt": ["hello"]},
        {"prompt": "x" * 4001},
        {"prompt": 7},
        {"method": "eagle"},
        {"method": None},
        {"method": ["draft"]},
        {"method": "../../etc"},
        {"method": "HuggingFaceTB/SmolLM2-135M"},
        {"draft_len": 0},
        {"draft_len": 11},
        {"draft_len": 2.5},
        {"draft_len": None},
        {"draft_len": "4"},
        {"draft_len": "heuristic"},
        {"draft_len": True},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": None},
        {"temperature": {"a": 1}},
        {"top_p": 0},
        {"top_p": 1.01},
        {"top_p": math.nan},
        {"top_p": -1},
        {"seed": -1},
        {"seed": 2**32},
        {"seed": 1.5},
        {"seed": math.inf},
        {"seed": None},
        {"seed": 1e300},
        {"max_new": 0},
        {"max_new": 257},
        {"max_new": 10**9},
        {"max_new": math.nan},
    ],
)
def test_bad_requests_are_refused_in_one_sentence(changes):
    with pytest.raises(Refused) as refused:
        ask(**changes)
    sentence = str(refused.value)
    assert sentence.endswith(".") and len(sentence) < 140 and "\n" not in sentence and "Traceback" not in sentence


def test_half_a_character_becomes_a_whole_one():
    assert ask(prompt="a\ud83d").prompt.encode("utf-8")


def given(**values):
    return json.dumps({"details": "ignored", "given": values})


def test_a_methods_own_settings():
    assert check_settings(given(tree="3x2x1", ngram_max=5, lookup_match="first", confidence=0.25), DETAILS) == {
        "tree": "3x2x1",
        "ngram_max": 5,
        "lookup_match": "first",
        "confidence": 0.25,
    }
    assert check_settings(None, DETAILS) == check_settings("", DETAILS) == check_settings(given(tree=None), DETAILS) == {}
    assert ask(settings=given(tree="auto")).settings == {"tree": "auto"}


@pytest.mark.parametrize(
    "settings",
    [
        7,
        "{",
        "[]",
        '{"given": []}',
        "{}",
        "[" * 10_000,
        '{"given": {}, "x": "' + "x" * 20_000 + '"}',
        given(pair="/etc/passwd"),
        given(tree="../../etc"),
        given(tree="x" * 40),
        given(tree=3),
        given(tree="$(id)"),
        given(ngram_max=17),
        given(ngram_max=2.5),
        given(ngram_max="3"),
        given(ngram_max=True),
        given(lookup_match="last"),
        given(lookup_match=["first"]),
        given(confidence=1.5),
        '{"given": {"confidence": NaN}}',
        given(device="cuda:1"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings):
    with pytest.raises(Refused) as refused:
        ask(settings=settings)
    for lang in words.LANGUAGES:
        assert refused.value.sentence(lang).endswith(".") and "\n" not in refused.value.sentence(lang)


BRANCH = {"prompt": "hello", "base": 12, "after_ids": [1, 2, 3], "after_text": "", "shown": " a b c"}


def test_the_form_of_the_output_is_a_schema_a_pattern_or_choices():
    assert check_grammar("") is None and check_grammar(None) is None and check_grammar(" \n") is None
    for text, kind, value in (
        ('{"type": "object"}', "json_schema", {"type": "object"}),
        ("/[0-9]{4}/", "regex", "[0-9]{4}"),
        ("yes, no", "choice", ["yes", "no"]),
        ("/", "choice", ["/"]),
    ):
        assert check_grammar(text).as_record() == {"kind": kind, "value": value}
    request, _ = check(*GOOD.values(), known=KNOWN, details=DETAILS, grammar="/a/")
    assert request.grammar == check_grammar("/a/") and ask().grammar is None


@pytest.mark.parametrize("text", [7, ["a"], True, "x" * 8001, '{"type":', "a,,b", ","])
def test_a_bad_form_is_one_sentence_in_each_language(text):
    with pytest.raises((Refused, UserError)) as found:
        check_grammar(text)
    for code in ("en", "ru"):
        said = found.value.sentence(code) if isinstance(found.value, Refused) else words.failure(found.value, code)
        assert said.count(".") == 1 and "--" not in said and len(said) < 200


def test_a_branch_becomes_part_of_the_request():
    request = ask(branch={**BRANCH, "prompt": "another"})
    assert (request.prompt, request.after_ids, request.after_text) == ("another", (1, 2, 3), "")
    request = ask(branch={**BRANCH, "prompt": None, "after_ids": [], "after_text": "Once</s>${x}", "shown": "Once</s>${x}"})
    assert (request.prompt, request.after_ids, request.after_text) == ("hello", (), "Once</s>${x}")
    assert check_branch({**BRANCH, "after_ids": [1] * 512, "shown": "x" * 16_000})["ids"] == (1,) * 512
    assert request.verify == "chain" and ask(branch={**BRANCH, "verify": "coupled"}).verify == "coupled" and ask().verify == "chain"


@pytest.mark.parametrize(
    "changes",
    [
        {"after_ids": [1] * 513},
        {"after_ids": [-1]},
        {"after_ids": [2**31]},
        {"after_ids": ["1"]},
        {"after_ids": [True]},
        {"after_ids": [1.0]},
        {"after_ids": "123"},
        {"after_ids": None},
        {"after_ids": []},
        {"after_text": "x" * 4001, "shown": "x"},
        {"after_text": 7},
        {"after_text": "a", "shown": "x" * 4001},
        {"shown": "x" * 16_001},
        {"shown": None},
        {"base": -1},
        {"base": "0"},
        {"base": True},
        {"base": 10**9},
        {"verify": "typical"},
        {"verify": None},
        {"verify": ["coupled"]},
        {"prompt": ""},
        {"prompt": 7},
        {"prompt": "x" * 4001},
    ],
)
def test_bad_branches_are_refused(changes):
    with pytest.raises(Refused):
        ask(branch={**BRANCH, **changes})
    for data in (7, [], "x"):
        with pytest.raises(Refused):
            ask(branch=data)


def test_refusals_speak_every_language_and_never_use_a_value_as_a_pattern():
    refused = Refused("bad.choice", name="{x} {0}")
    assert "{x} {0}" in refused.sentence("ru") and "{x} {0}" in str(refused)
    with pytest.raises(Refused) as seed:
        ask(seed=-1)
    assert str(seed.value).startswith("Seed must") and seed.value.sentence("ru").startswith("Зерно") and seed.value.sentence("xx") == str(seed.value)
