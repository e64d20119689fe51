"""Ids to text and back: whole characters, special tokens, chat templates from somewhere else, and targets without a tokenizer."""
from __future__ import annotations

import json

import pytest

from core.errors import UserError
from core.models.text import NoText, Text
from tests.core import tiny

TEMPLATE = "{% for m in messages %}<|user|>{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}A:{% endif %}"


@pytest.fixture(scope="module")
def text() -> Text:
    return Text(tiny.tokenizer(("Ġab", "é")), TEMPLATE)


def folder(tmp_path, **files):
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    for name, content in files.items():
        (tmp_path / (name + (".jinja" if name == "chat_template" else ".json"))).write_text(content if isinstance(content,
            str) else json.dumps(content))
    return tmp_path


@pytest.mark.parametrize("sample", ["plain", "a\nb\t c", "\N{SEEDLING}", "日本語 שלום", "</script>${x}{{y}}\\",
                                    "e\u0301\u202e", "\x00\x1b", "a\u2028b"])
def test_bytes_survive_the_round_trip(text, sample):
    ids = text.encode(sample)
    assert text.decode(ids) == sample


def test_pieces_of_a_character_are_shown_as_bytes(text):
    assert [text.piece(i) for i in text.encode("\N{SEEDLING}")] == ["<0xF0>", "<0x9F>", "<0x8C>", "<0xB1>"]
    assert [text.piece(i) for i in text.encode("aé")] == ["a", "<0xC3>", "<0xA9>"]


def test_special_tokens_have_their_name_and_no_text(text):
    assert [text.piece(i) for i in (0, 1)] == tiny.SPECIALS
    assert text.decode([0, *text.encode("x"), 1]) == "x"


def test_ids_without_a_token(text):
    assert text.size == 260 and text.piece(259) != "<259>" and text.piece(260) == "<260>" and text.piece(10 ** 6) == "<1000000>"


def test_a_chat_turn_goes_through_the_template(text):
    assert text.decode(text.chat("Hi", None)) == "user:Hi\nA:"
    assert text.decode(text.chat("Hi", "Be kind")) == "system:Be kind\nuser:Hi\nA:"
    assert text.chat("Hi", None)[0] == 1


def test_without_a_template_the_text_runs_as_it_is():
    bare = Text(tiny.tokenizer())
    assert bare.decode(bare.chat("Hi", None)) == "Hi" and bare.decode(bare.chat("Hi", "S")) == "S\n\nHi"


@pytest.mark.parametrize("template", [
    "{{ raise_exception('no system turn') }}", "{{ 1 / 0 }}", "{{ messages[0]['content'] + 1 }}", "{% if %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ messages.append(1) }}", "{{ undefined_thing.x }}", "{% for i in range(10 ** 9) %}x{% endfor %}", "{{ missing() }}"])
def test_a_template_that_fails_is_one_sentence(template):
    with pytest.raises(UserError, match="chat template") as caught:
        Text(tiny.tokenizer(), template).chat("Hi", None)
    assert "\n" not in str(caught.value) and "--raw" in str(caught.value)


def test_templates_are_found_where_checkpoints_keep_them(tmp_path):
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "D{{ messages[0]['content'] }}"}]
    for files, want in (({"tokenizer_config": {"chat_template": "C{{ bos_token }}", "bos_token": {"content": "<|end|>"}}}, "C"),
                        ({"tokenizer_config": {"chat_template": named}}, "DHi"),
                        ({"tokenizer_config": {"chat_template": "C"}, "chat_template": "J"}, "J")):
        text = Text.from_folder(folder(tmp_path, **files))
        assert text.decode(text.chat("Hi", None)) == want


@pytest.mark.parametrize("name", ["tokenizer", "tokenizer_config"])
@pytest.mark.parametrize("content", ["", "[]", "{", "5", "[" * 100_000])
def test_damaged_tokenizer_files_are_one_sentence(tmp_path, name, content):
    with pytest.raises(UserError, match=name) as caught:
        Text.from_folder(folder(tmp_path, **{name: content}))
    assert "\n" not in str(caught.value)


def test_no_tokenizer(tmp_path):
    text = Text.from_folder(tmp_path)
    assert isinstance(text, NoText) and text.size is None and text.decode([5, 19]) == "<5><19>"
    for call in (lambda: text.encode("x"), lambda: text.chat("x", None)):
        with pytest.raises(UserError, match="--prompt-ids"):
            call()
