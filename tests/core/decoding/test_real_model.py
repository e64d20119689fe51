"""The embedded target, SmolLM2-135M-Instruct: greedy speculation token for token, the chat template, the tokenizer's sizes."""
from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.sampling.probs import Sampling
from tests.core import check

PROMPTS = {"story": "Write one sentence about a lighthouse.", "code": "Write a Python function that adds two numbers.",
           "unicode": "Say hello in Greek, Japanese and emoji."}
NEW = 16


@pytest.fixture(scope="session")
def early(pair):
    """The target's first 20 layers as a draft model."""
    model = pair.target.model
    draft = copy.copy(model)
    draft._modules = dict(model._modules)
    draft.layers = torch.nn.ModuleList(list(model.layers)[:20])
    draft.config = dataclasses.replace(model.config, num_layers=20)
    return draft


@pytest.fixture(scope="session")
def plain(pair):
    return {name: decode(pair, Proposer(), prompt)[0].new_tokens for name, prompt in PROMPTS.items() if name != "code"}


def decode(pair, proposer, prompt, **options):
    run = Decoding(pair.target, proposer, pair.text.chat(prompt, None), Options(**{"max_new_tokens": NEW} | options), pair.text)
    rounds = list(run)
    check.run(run, rounds, run.prompt_len)
    return run, rounds


def test_sizes_and_end_token(pair):
    assert pair.text.size == pair.target.vocab_size == 49152
    assert [pair.text.piece(t) for t in pair.target.eos_ids] == ["<|im_end|>"]
    assert pair.target.max_positions == 8192
    assert all(len(sum_) == 64 for sum_ in pair.weights.values())


def test_the_chat_template_renders(pair):
    ids = pair.text.chat("Hi", None)
    special = [pair.text.piece(t) for t in ids if pair.text.piece(t).startswith("<|im")]
    assert special == ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
    own = pair.text.chat("Hi", "Be brief.")
    assert pair.text.decode(own).endswith("user\nHi\nassistant\n") and "Be brief." in pair.text.decode(own)
    assert "Be brief." not in pair.text.decode(ids)


@pytest.mark.parametrize("sample", ["Grüße \N{SEEDLING} 日本語", "</s>${x}{{y}}\\\n\n\t 1234567"])
def test_text_survives_the_round_trip(pair, sample):
    ids = pair.text.encode(sample)
    assert pair.text.decode(ids) == sample and max(ids) < pair.text.size


@pytest.mark.parametrize(("name", "draft_len"), [("story", 1), ("unicode", 5)])
def test_greedy_speculation_is_plain_decoding(pair, early, plain, name, draft_len):
    run, _ = decode(pair, DraftModel(early), PROMPTS[name], draft_len=draft_len)
    assert run.new_tokens == plain[name]


def test_its_text_reads_like_an_answer(pair, plain):
    text = pair.text.decode(plain["story"])
    assert len(text.split()) > 8 and text.isascii()


def test_a_perfect_draft_is_accepted_in_every_sampled_round(pair):
    _, rounds = decode(pair, DraftModel(pair.target.model), PROMPTS["story"], sampling=Sampling(0.8, top_p=0.95), draft_len=3, seed=2,
                       max_new_tokens=20)
    accepted = [d.verdict == "accepted" for r in rounds for d in r.drafted]
    # in float32 passes over 1 and over 4 tokens round differently, so a ratio may be slightly below 1
    assert sum(accepted) >= len(accepted) - 1 and len(accepted) >= 12


def test_the_cache_agrees_with_a_fresh_forward(pair, early):
    run = Decoding(pair.target, DraftModel(early), pair.text.chat(PROMPTS["code"], None), Options(NEW, 4, Sampling(1.0)), pair.text)
    rounds = iter(run)
    for _ in range(4):
        next(rounds)
    ids = torch.tensor(run.tokens)
    with torch.inference_mode():
        got = pair.target.verify(ids[run.ctx.cache.length:], run.ctx.cache, 1)[0]
        want = pair.target.verify(ids, pair.target.new_cache(len(ids)), 1)[0]
    torch.testing.assert_close(got, want, rtol=0, atol=2e-3)
    rounds.close()
