"""Pairs from folders: what fits loads, what does not is refused with the reason; names that are no model."""
from __future__ import annotations

import hashlib
import json

import pytest
import torch

from core.checkpoints import load
from core.errors import EnvironmentFailure, UserError
from core.models.text import NoText, Text
from tests.core import tiny

VOCAB = {"vocab_size": 260, "max_positions": 128}


@pytest.fixture
def folder(tmp_path):
    return tiny.checkpoint(tmp_path / "target", tokenizer=tiny.tokenizer(), hf={"eos_token_id": 0}, **VOCAB)


def open_pair(target, draft=None, **options):
    return load.load(target=str(target), draft=str(draft) if draft else None, dtype="float32", device="cpu", **options)


def test_a_folder_becomes_a_target(folder):
    pair = open_pair(folder)
    assert pair.target.vocab_size == 258 and pair.target.eos_ids == (0,) and pair.target.max_positions == 128
    assert pair.target.dtype == torch.float32 and isinstance(pair.text, Text)
    want = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert pair.weights == {str(folder): want}


def test_without_a_tokenizer_all_rows_of_the_head_count(tmp_path):
    pair = open_pair(tiny.checkpoint(tmp_path / "bare"))
    assert isinstance(pair.text, NoText) and pair.target.vocab_size == 20


def test_a_draft_with_the_same_tokens_fits_also_with_another_padding(folder, tmp_path):
    draft = tiny.checkpoint(tmp_path / "draft", 7, tiny.tokenizer(("xx",)), vocab_size=300)
    pair = open_pair(folder, draft)
    model, token_map = pair.draft_model()
    assert token_map is None and model.config.vocab_size == 300 and pair.draft_model()[0] is model
    assert any(name.startswith("draft") for name in pair.weights)


def test_a_draft_with_other_texts_is_refused_with_the_reason(folder, tmp_path):
    """Two ids are exchanged: the same size, and other texts."""
    from tokenizers import Tokenizer
    data = json.loads(tiny.tokenizer().to_str())
    vocab = data["model"]["vocab"]
    a, b = (next(t for t, i in vocab.items() if i == n) for n in (70, 71))
    vocab[a], vocab[b] = 71, 70
    draft = tiny.checkpoint(tmp_path / "draft", 7, Tokenizer.from_str(json.dumps(data)), **VOCAB)
    with pytest.raises(UserError, match="id 70"):
        open_pair(folder, draft).draft_model()


def test_a_draft_with_a_much_larger_vocabulary_is_refused(folder, tmp_path):
    draft = tiny.checkpoint(tmp_path / "draft", 7, tiny.tokenizer(tuple(f"t{i}" for i in range(300))), vocab_size=560)
    with pytest.raises(UserError, match="558 tokens"):
        open_pair(folder, draft).draft_model()


def test_no_draft_says_what_to_do(folder):
    with pytest.raises(UserError, match="--draft"):
        open_pair(folder).draft_model()


@pytest.mark.parametrize("name", ["no/such/place", "nothing-here", "/dev/null", "../x", "a/b/c", "", "~nobody-of-this-name/x", "x" * 300,
                                  "x/" + "y" * 5000,
                                  "-", "a b/c", "https://huggingface.co/a/b"])
def test_names_that_are_no_model(name):
    with pytest.raises(UserError) as caught:
        load.load(target=name, dtype="float32", device="cpu")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_hub_name_without_network(monkeypatch):
    with pytest.raises(EnvironmentFailure, match="owner/absent"):
        load.load(target="owner/absent", dtype="float32", device="cpu")


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64, b"no gguf at all" * 10])
def test_a_gguf_file_that_is_none(tmp_path, content, monkeypatch):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "x.gguf"
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"x.gguf"):
        open_pair(file)
    assert not [p for p in (tmp_path / "cache").iterdir() if p.name.startswith((".gguf", "gguf"))]


@pytest.mark.parametrize(("name", "error"), [("gpu", UserError), ("", UserError), ("mps", UserError), ("cuda:x", UserError), ("cpu:cpu", UserError),
                                             ("cuda:99", EnvironmentFailure), ("meta", UserError),
                                             ("cuda:99999999999", (UserError, EnvironmentFailure))])
def test_devices(name, error):
    with pytest.raises(error, match=r"device|cuda"):
        load.pick_device(name)


@pytest.mark.parametrize("name", ["int8", "", "float8", "Float32", "torch.float32"])
def test_dtypes(name):
    with pytest.raises(UserError, match="--dtype"):
        load.pick_dtype(name, torch.device("cpu"))


def test_unknown_pair():
    with pytest.raises(UserError, match="smollm2"):
        load.load("llama-405b")


def test_shipped_acceptance_is_for_what_it_was_measured_on(folder, tmp_path):
    own = load.Pair("smollm2", "smollm2", None, NoText(), drafts={m: load.ASSETS / "smollm2" / m for m in ("draft", "eagle", "medusa")})
    assert own.acceptance("eagle", True)[""][0][0] > 0.1 and set(own.acceptance("lookup+eagle", True)) == {"", "lookup"}
    assert own.acceptance("early-exit", False) and own.acceptance("eagle", True) != own.acceptance("eagle", False)
    other = open_pair(folder)
    assert other.acceptance("early-exit", True) is None and other.acceptance("draft", True) is None
    assert other.acceptance("lookup", True) == own.acceptance("lookup", True)           # the text decides, whatever the target
    other.drafts["eagle"] = tmp_path
    assert other.acceptance("eagle", True) is None and set(other.acceptance("lookup+eagle", True)) == {"lookup"}
