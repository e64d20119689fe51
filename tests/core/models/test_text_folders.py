"""Tokenizers of whole folders: what files beside tokenizer.json say, what is refused, and folders that spell the same tokenizer differently."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from core.checkpoints import load
from core.errors import UserError
from core.models.text import NoText, Text, first_difference
from tests.core import tiny
from tests.core.models.tokenizer_folders import NEW, SPACE, A, B, folder, theirs

# -- what lies beside tokenizer.json ------------------------------------------------------------------------------------------------


def test_a_folder_without_tokenizer_needs_no_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    text = Text.from_folder(tmp_path)
    assert isinstance(text, NoText) and text.size is None and text.decode([5, 19]) == "<5><19>"
    for call in (lambda: text.encode("x"), lambda: text.chat("x", None)):
        with pytest.raises(UserError, match="--prompt-ids"):
            call()


@pytest.mark.parametrize("change", [lambda t: t.enable_truncation(3), lambda t: t.enable_padding(length=24, pad_id=0, pad_token="<|end|>"),
                                    lambda t: t.enable_padding(direction="left", pad_to_multiple_of=8, pad_id=0, pad_token="<|end|>")],
                         ids=["truncation", "padding", "left padding"])
@pytest.mark.parametrize("model_type", ["llama", "gpt2"])
def test_settings_for_batches_do_not_touch_a_prompt(tmp_path, change, model_type):
    tokenizer = tiny.tokenizer()
    change(tokenizer)
    text = Text.from_folder(folder(tmp_path / "x", tokenizer, {"chat_template": "{{ messages[0]['content'] }}"}, model_type))
    assert text.encode("aaaaa") == text.chat("aaaaa", None) == [A] * 5
    assert text.decode([A] * 5) == "aaaaa" and [text.piece(i) for i in [A] * 5] == ["a"] * 5


OUTSIDE = {"added_tokens_decoder": ({"added_tokens_decoder": {"258": NEW}}, {}), "added_tokens.json": (None, {"added_tokens_json": {"<|im|>": 258}}),
           "additional_special_tokens": ({"additional_special_tokens": ["<|im|>"]}, {}),
           "extra_special_tokens": ({"extra_special_tokens": ["<|im|>"]}, {}),
           "extra_special_tokens by name": ({"extra_special_tokens": {"image_token": "<|im|>"}}, {}),
           "eos_token": ({"eos_token": "<|im|>"}, {}), "pad_token": ({"pad_token": NEW | {"__type": "AddedToken"}}, {}),
           "special_tokens_map.json": ({}, {"special_tokens_map_json": {"eos_token": "<|im|>"}})}


@pytest.mark.parametrize("way", OUTSIDE)
@pytest.mark.parametrize("kind", [None, "PreTrainedTokenizerFast", "GPT2Tokenizer"])
def test_tokens_that_only_another_file_declares(tmp_path, way, kind):
    config, files = OUTSIDE[way]
    if kind:
        config = (config or {}) | {"tokenizer_class": kind}
    at = folder(tmp_path / "x", config=config, **files)
    text = Text.from_folder(at)
    new = theirs(at).convert_tokens_to_ids("<|im|>")
    assert kind == "GPT2Tokenizer" or new == 258        # that class adds an <|endoftext|> of its own, in front or behind
    assert text.encode("a<|im|>b") == [A, new, B] == theirs(at).encode("a<|im|>b") and text.size == len(theirs(at))
    assert text.piece(new) == "<|im|>" and new in text.added
    special = way != "added_tokens.json"
    assert (new in text.special) == special
    assert text.decode([A, new, B]) == ("ab" if special else "a<|im|>b") and text.decode([A, new, B], special=True) == "a<|im|>b"


def test_a_token_that_is_special_by_the_config_alone_is_not_shown(tmp_path):
    text = Text.from_folder(folder(tmp_path / "x", tiny.tokenizer(("<|im|>",)), {"added_tokens_decoder": {"258": NEW}, "eos_token": "<|im|>"}))
    assert text.encode("a<|im|>b") == [A, 258, B] and text.decode([A, 258, B]) == "ab" and text.special == {0, 1, 258}


def test_an_eos_that_only_the_config_declares_can_be_emitted(tmp_path):
    """The head is cut behind the highest id of all files together, not of tokenizer.json."""
    at = tiny.checkpoint(tmp_path / "x", vocab_size=300, hf={"eos_token_id": 258})
    folder(at, config={"added_tokens_decoder": {"258": NEW}, "eos_token": "<|im|>"}, config_json=(at / "config.json").read_text())
    pair = load.load(target=str(at), dtype="float32", device="cpu")
    assert pair.target.vocab_size == 259 and pair.target.eos_ids == (258,) and pair.text.piece(258) == "<|im|>"


@pytest.mark.parametrize("kind", ["GPT2Tokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer"])
@pytest.mark.parametrize("prefix", [True, False])
def test_a_prefix_space_that_the_config_wants(tmp_path, kind, prefix):
    at = folder(tmp_path / "x", config={"tokenizer_class": kind, "add_prefix_space": prefix}, model_type="gpt2")
    text = Text.from_folder(at)
    assert text.encode("a") == ([SPACE, A] if prefix else [A]) == theirs(at).encode("a")


def test_vocabulary_and_merges_without_tokenizer_json(tmp_path):
    vocab = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))} | {"ab": 256, "\u0120ab": 257}
    at = folder(tmp_path / "x", model_type="gpt2", vocab_json=vocab, merges_txt="#version: 0.2\na b\n\u0120 ab\n")
    (at / "tokenizer.json").unlink()
    text = Text.from_folder(at)
    assert text.encode("ab ab") == [256, 257] and [text.piece(i) for i in (256, 257)] == ["ab", " ab"]


@pytest.mark.parametrize("code", [{"AutoTokenizer": ["mine.Slow", "mine.Fast"]}, ["mine.Slow", None]])
@pytest.mark.parametrize("kind", [None, "PreTrainedTokenizerFast", "MyTokenizer"])
def test_code_from_the_folder_is_refused_and_never_run(tmp_path, code, kind):
    at = folder(tmp_path / "x", config={"auto_map": code} | ({"tokenizer_class": kind} if kind else {}),
                mine_py=f"open({str(tmp_path / 'ran')!r}, 'w')\nSlow = Fast = None\n")
    with pytest.raises(UserError, match=r"auto_map in tokenizer_config\.json"):
        Text.from_folder(at)
    assert not (tmp_path / "ran").exists()


def test_code_for_the_model_alone_does_not_matter(tmp_path):
    assert Text.from_folder(folder(tmp_path / "x", config={"auto_map": {"AutoModel": "mine.Model"}})).encode("a") == [A]


@pytest.mark.parametrize("name", ["tokenizer_json", "tokenizer_config_json"])
@pytest.mark.parametrize("content", ["", "[]", "{", "5", "[" * 100_000])
@pytest.mark.parametrize("model_type", ["llama", "gpt2"])
def test_damaged_tokenizer_files_are_one_sentence(tmp_path, name, content, model_type):
    with pytest.raises(UserError, match="tokenizer_config" if "config" in name else "tokenizer") as caught:
        Text.from_folder(folder(tmp_path / "x", model_type=model_type, **{name: content}))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize("config", [{"eos_token": 5}, {"added_tokens_decoder": 5}, {"added_tokens_decoder": {"x": NEW}}, {"tokenizer_class": 5},
                                    {"extra_special_tokens": 5}, {"tokenizer_class": "GenerationConfig"}], ids=str)
def test_a_config_that_makes_no_sense_is_one_sentence(tmp_path, config):
    with pytest.raises(UserError, match="cannot be read") as caught:
        Text.from_folder(folder(tmp_path / "x", config=config))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("config", [None, {}, {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im|>", "add_prefix_space": True},
                                    {"tokenizer_class": "TokenizersBackend", "add_bos_token": True, "bos_token": "<|end|>"}], ids=str)
def test_the_quick_way_to_load_is_the_one_of_auto_tokenizer(tmp_path, config):
    at = folder(tmp_path / "x", config=config)
    ours, other = Text.from_folder(at).tokenizer, theirs(at)
    assert type(ours) is type(other) and ours.special_tokens_map == other.special_tokens_map
    assert ours.backend_tokenizer.to_str() == other.backend_tokenizer.to_str()


# -- the same tokenizer, spelled differently ----------------------------------------------------------------------------------------


def respelled(way: str, at: Path) -> Path:
    """tiny.tokenizer() with three merges and a special token more, in another spelling."""
    tokenizer = merged()
    data = json.loads(tokenizer.to_str())
    config, files = None, {}
    if way == "keys in another order":
        data = dict(reversed(data.items()))
        data["model"]["vocab"] = dict(reversed(data["model"]["vocab"].items()))
    elif way == "merges as strings":
        data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]
    elif way == "other merges":         # what text is cut into is the draft's own matter: its ids are read, never its texts
        data["model"]["merges"] = data["model"]["merges"][:1]
    elif way in ("added_tokens.json", "added_tokens_decoder"):
        data["added_tokens"] = [t for t in data["added_tokens"] if t["id"] < 2]
        if way == "added_tokens.json":
            files = {"added_tokens_json": {"<|im|>": 261}}
        else:
            config = {"added_tokens_decoder": {"261": NEW}}
    elif way == "not marked as special":
        data["added_tokens"][2]["special"] = False
    elif way == "another class":
        config = {"tokenizer_class": "GPT2Tokenizer", "unk_token": "<|im|>", "eos_token": "<|im|>", "bos_token": "<|im|>"}
    elif way == "another decoder":
        data["decoder"] = {"type": "Sequence", "decoders": [data["decoder"], {"type": "Fuse"}]}
    elif way == "vocab.json and merges.txt":
        config = {"tokenizer_class": "GPT2Tokenizer", "unk_token": "<|im|>", "eos_token": "<|im|>", "bos_token": "<|im|>",
                  "additional_special_tokens": tiny.SPECIALS}
        files = {"vocab_json": data["model"]["vocab"] | {"<|im|>": 261}, "merges_txt": "\n".join(map(" ".join, data["model"]["merges"]))}
    folder(at, Tokenizer.from_str(json.dumps(data)), config, **files)
    if way == "keys in another order" or way == "merges as strings":
        (at / "tokenizer.json").write_text(json.dumps(data))
    if "vocab_json" in files:
        (at / "tokenizer.json").unlink()
    return at


def merged() -> Tokenizer:
    plain = json.loads(tiny.tokenizer(("ab", "abc", "\u0120ab")).to_str())
    plain["model"]["merges"] = [["a", "b"], ["ab", "c"], ["\u0120", "ab"]]
    out = Tokenizer.from_str(json.dumps(plain))
    out.add_special_tokens(["<|im|>"])
    return out


@pytest.mark.parametrize("way", ["as it is", "keys in another order", "merges as strings", "other merges", "added_tokens.json",
                                 "added_tokens_decoder", "not marked as special", "another class", "another decoder", "vocab.json and merges.txt"])
def test_another_spelling_is_the_same_tokenizer(tmp_path, way):
    ours, other = Text.from_folder(folder(tmp_path / "ours", merged())), Text.from_folder(respelled(way, tmp_path / "other"))
    assert ours.size == other.size == 262 and ours.piece(260) == other.piece(260) == " ab"
    assert load.other_text(ours, other, "draft") is None and load.other_text(other, ours, "draft") is None


def test_byte_level_and_sentencepiece_spell_the_same_text():
    metaspace = Tokenizer(models.WordLevel({"\u2581a": 0, "b": 1, "\u2581": 2, "c": 9}, unk_token="b"))
    metaspace.decoder = decoders.Metaspace()
    level = Tokenizer(models.WordLevel({"\u0120a": 0, "b": 1, "\u0120": 2, "x": 5}, unk_token="b"))       # ids 5 and 9: each has a token once
    level.decoder = decoders.ByteLevel()
    assert first_difference(tiny.text(metaspace), tiny.text(level)) is None
    assert first_difference(tiny.text(metaspace), NoText()) is None


def test_really_different_tokenizers_are_told_apart():
    text = tiny.text(tiny.tokenizer(("\u0120ab", "\u00c3\u00a9")))
    swapped = json.loads(tiny.tokenizer().to_str())
    swapped["model"]["vocab"] |= {"a": B, "b": A}
    assert first_difference(text, tiny.text(Tokenizer.from_str(json.dumps(swapped)))) == A
    assert "id 66 is 'b' there and 'a' in the target" in load.other_text(text, tiny.text(Tokenizer.from_str(json.dumps(swapped))), "draft")
    spaced = tiny.tokenizer(("ab", "\u00c3\u00a9"))
    assert first_difference(text, tiny.text(spaced)) == 258                     # " ab" and "ab"
    renamed = json.loads(tiny.tokenizer().to_str().replace("<|user|>", "<|human|>"))
    assert first_difference(text, tiny.text(Tokenizer.from_str(json.dumps(renamed)))) == 1
    longer = tiny.tokenizer()
    longer.add_tokens([AddedToken(f"<{i}>") for i in range(200)])
    assert "458 tokens" in load.other_text(tiny.text(tiny.tokenizer()), tiny.text(longer), "draft")
