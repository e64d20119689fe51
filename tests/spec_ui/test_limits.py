"""What a visitor may ask for; every refusal is one sentence."""

import math

import pytest

from core.engine import RunRequest
from spec_ui.limits import Refused, check

KNOWN = ["draft", "plain"]
GOOD = {"prompt": "hello", "method": "draft", "draft_len": 4, "temperature": 0.7, "top_p": 1, "seed": 0, "max_new": 96}


def ask(**changes):
    return check(*{**GOOD, **changes}.values(), known=KNOWN)


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
