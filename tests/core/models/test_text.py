"""Ids to text and back as transformers does it, how one token reads, and chat templates from somewhere else."""
from __future__ import annotations

import sys
from datetime import datetime

import pytest
from tokenizers import Tokenizer, decoders, models

from core.errors import UserError
from core.models import text as text_module
from core.models.text import Text
from tests.core import tiny
from tests.core.models.tokenizer_folders import SPACE, A, B, folder, theirs

TEMPLATE = "{% for m in messages %}<|user|>{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}A:{% endif %}"


@pytest.fixture(scope="module")
def text() -> Text:
    return tiny.text(tiny.tokenizer(("\u0120ab", "\u00c3\u00a9")), chat_template=TEMPLATE)


# -- one token, and a text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["plain", "a\nb\t c", "\N{SEEDLING}", "日本語 שלום", "</script>${x}{{y}}\\",
                                    "e\u0301\u202e", "\x00\x1b", "a\u2028b"])
def test_bytes_survive_the_round_trip(text, sample):
    ids = text.encode(sample)
    assert text.decode(ids) == sample


def test_pieces_of_a_character_are_shown_as_bytes(text):
    assert [text.piece(i) for i in text.encode("\N{SEEDLING}")] == ["<0xF0>", "<0x9F>", "<0x8C>", "<0xB1>"]
    assert [text.piece(i) for i in text.encode("aé")] == ["a", "<0xC3>", "<0xA9>"]
    assert (text.piece(258), text.piece(259)) == (" ab", "é")


def test_special_tokens_have_their_name_and_show_only_when_asked_for(text):
    assert [text.piece(i) for i in (0, 1)] == tiny.SPECIALS and text.special == text.added == {0, 1}
    assert text.decode([0, *text.encode("x"), 1]) == "x"
    assert text.decode([0, *text.encode("x"), 1], special=True) == "<|end|>x<|user|>"


def test_ids_without_a_token(text):
    assert text.size == 260 and text.name(260) is None and text.piece(260) == "<260>" and text.piece(10 ** 6) == "<1000000>"
    assert text.decode([A, 10 ** 6, B]) == "ab"


def test_pieces_of_a_sentencepiece_vocabulary():
    text = tiny.text(tiny.sentencepiece())
    ids = text.encode("ab é\n")
    assert ids == [289, 260, 4 + 0xC3, 4 + 0xA9, 4 + 0x0A]
    assert [text.piece(i) for i in ids] == [" ab", " ", "<0xC3>", "<0xA9>", "\n"]
    assert text.piece(3) == "\u2581<PRE>" and text.decode(ids) == "ab é\n"


def test_pieces_of_other_decoders():
    words = Tokenizer(models.WordPiece({"[UNK]": 0, "go": 1, "##ing": 2}, unk_token="[UNK]"))
    words.decoder = decoders.WordPiece()
    assert [tiny.text(words).piece(i) for i in (1, 2)] == [" go", "ing"]
    nested = tiny.tokenizer(("\u0120ab",))
    nested.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])
    assert [tiny.text(nested).piece(i) for i in (258, 256)] == [" ab", tiny.text(tiny.tokenizer()).piece(256)]
    whole = Tokenizer(models.WordLevel({"\ufffd": 0, "a": 1}, unk_token="a"))       # a vocabulary may hold the replacement character itself
    whole.decoder = decoders.Metaspace()
    assert tiny.text(whole).piece(0) == "\ufffd"


def test_the_size_reaches_to_the_highest_id():
    holes = Tokenizer(models.WordLevel({"a": 0, "b": 7}, unk_token="a"))
    assert tiny.text(holes).size == 8 and tiny.text(holes).name(3) is None


@pytest.mark.parametrize("wanted", [True, False])
def test_spaces_are_cleaned_up_where_transformers_does_so(wanted):
    """In a WordPiece vocabulary; in a BPE one, transformers ignores the wish."""
    words = Tokenizer(models.WordLevel({"a": 0, ".": 1}, unk_token="a"))
    assert tiny.text(words, clean_up_tokenization_spaces=wanted).decode([0, 1]) == ("a." if wanted else "a .")
    assert tiny.text(tiny.tokenizer(), clean_up_tokenization_spaces=wanted).decode([A, SPACE, 15]) == "a ."


# -- chat templates -----------------------------------------------------------------------------------------------------------------


def test_a_chat_turn_goes_through_the_template(text):
    assert text.decode(text.chat("Hi", None)) == "user:Hi\nA:"
    assert text.decode(text.chat("Hi", "Be kind")) == "system:Be kind\nuser:Hi\nA:"
    assert text.chat("Hi", None)[0] == 1


def test_without_a_template_the_text_runs_as_it_is():
    bare = tiny.text(tiny.tokenizer())
    assert bare.decode(bare.chat("Hi", None)) == "Hi" and bare.decode(bare.chat("Hi", "S")) == "S\n\nHi"


SURROUNDINGS = {
    "{{ strftime_now('%Y') }}": f"{datetime.now():%Y}",
    "{% generation %}{{ messages[0]['content'] }}{% endgeneration %}": "日 <b>",
    "{{ messages[0] | tojson }}": '{"role": "user", "content": "日 <b>"}',
    "{{ messages[0] | tojson(ensure_ascii=True) }}": '{"role": "user", "content": "\\u65e5 <b>"}',
    "{{ messages | tojson(indent=1) }}": '[\n {\n  "role": "user",\n  "content": "日 <b>"\n }\n]',
    "{{ tools is none }} {{ documents is none }}": "True True",
    "{% if tools is not none %}TOOLS{% endif %}{{ nothing }}x": "x",
    "{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ sep_token }}{{ cls_token }}{{ mask_token }}{{ unk_token }}": "<|user|><|end|><p><s><c><m><u>",
    "{% for m in messages %}{% break %}{% endfor %}": "",
    "{% set ns = namespace(n=1) %}{% for m in messages %}{% set ns.n = 5 %}{% endfor %}{{ ns.n }}": "5",
    "{%- if true %}\n  a\n{%- endif %}": "  a",
}


@pytest.mark.parametrize("template", SURROUNDINGS)
@pytest.mark.parametrize("model_type", ["llama", "gpt2"])
def test_a_template_finds_what_templates_are_written_for(tmp_path, template, model_type):
    names = {"bos_token": "<|user|>", "eos_token": "<|end|>", "pad_token": "<p>", "sep_token": "<s>", "cls_token": "<c>", "mask_token": "<m>",
             "unk_token": "<u>"}
    at = folder(tmp_path / "x", config={"chat_template": template} | names, model_type=model_type)
    text = Text.from_folder(at)
    ids = text.chat("日 <b>", None)
    assert text.decode(ids, special=True) == SURROUNDINGS[template]
    assert ids == theirs(at).apply_chat_template([{"role": "user", "content": "日 <b>"}], add_generation_prompt=True)["input_ids"]


def test_special_tokens_are_named_in_their_own_file_too(tmp_path):
    at = folder(tmp_path / "x", config={"chat_template": "{{ bos_token }}a{{ eos_token }}"},
                special_tokens_map_json={"bos_token": "<|user|>", "eos_token": {"content": "<|end|>"}})
    assert Text.from_folder(at).chat("Hi", None) == [1, A, 0]


@pytest.mark.parametrize("template", [
    "{{ raise_exception('no system turn') }}", "{{ 1 / 0 }}", "{{ messages[0]['content'] + 1 }}", "{% if %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ messages.append(1) }}", "{{ undefined_thing.x }}", "{% for i in range(10 ** 9) %}x{% endfor %}", "{{ missing() }}"])
def test_a_template_that_fails_is_one_sentence(template):
    with pytest.raises(UserError, match="chat template") as caught:
        tiny.text(tiny.tokenizer(), chat_template=template).chat("Hi", None)
    assert "\n" not in str(caught.value) and "--raw" in str(caught.value)


def test_named_templates_without_a_default_are_refused(tmp_path):
    named = [{"name": "tool_use", "template": "no"}, {"name": "rag", "template": "no"}]
    with pytest.raises(UserError, match=r"multiple chat templates.*--raw"):
        Text.from_folder(folder(tmp_path / "x", config={"chat_template": named})).chat("Hi", None)


def test_a_template_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(text_module, "TEMPLATE_SECONDS", 0.2)
    traced = sys.gettrace()
    for template in ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
                     "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"):
        with pytest.raises(UserError, match=r"still running after 0.2 seconds.*--raw"):
            tiny.text(tiny.tokenizer(), chat_template=template).chat("Hi", None)
        assert sys.gettrace() is traced


def test_templates_are_found_where_checkpoints_keep_them(tmp_path):
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "D{{ messages[0]['content'] }}"}]
    bos = {"chat_template": "C{{ bos_token }}", "bos_token": {"content": "<|end|>", "__type": "AddedToken"}}
    for i, (config, files, want) in enumerate([(bos, {}, "C<|end|>"), ({"chat_template": named}, {}, "DHi"),
                                               ({"chat_template": "C"}, {"chat_template_jinja": "J"}, "J"), ({}, {"chat_template_jinja": "J"}, "J")]):
        text = Text.from_folder(folder(tmp_path / str(i), config=config, **files))
        assert text.decode(text.chat("Hi", None), special=True) == want
    (tmp_path / "3" / "additional_chat_templates").mkdir()
    (tmp_path / "3" / "additional_chat_templates" / "rag.jinja").write_text("no")
    assert Text.from_folder(tmp_path / "3").chat("Hi", None) == [43]
