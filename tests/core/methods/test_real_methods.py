"""Every method on the embedded target itself: greedy output token for token, the sampled distribution, the same seed twice."""
from __future__ import annotations

import hashlib

import pytest
import torch

from core.checkpoints.load import ASSETS
from core.decoding.loop import Decoding, Options
from core.methods import registry
from core.runs import prompts
from core.sampling import verify
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import facts
from tests.core.sampling.test_statistics import pooled

TEXTS = ["def add(a, b):\n    return a + b\n\ndef sub(a, b):", "one two one two one two"]
NEW = 12
PRESENT = {p.name for p in (ASSETS / "smollm2").glob("*") if (p / "config.json").exists()}      # the embedded drafts, listed without loading them
NAMES = [m.name for m in registry.METHODS.values() if m.needs is None or m.needs in PRESENT]
TREES = {"draft tree": ("draft", {"tree": "2x1"}), "eagle tree": ("eagle", {"tree": "auto"}),
         "early-exit skip": ("early-exit", {"skip_layers": "12-13"})}
WAYS = {**{name: (name, {}) for name in NAMES if name != "plain"}, **{k: v for k, v in TREES.items() if v[0] in NAMES}}
ASKED = [(TEXTS[0], 1.0), (TEXTS[1], 1.3)]       # text and repetition penalty


def decode(pair, way: str, ids: list[int], **options) -> tuple[Decoding, list]:
    name, settings = WAYS.get(way, (way, {}))
    proposer = registry.get(name).proposer(pair, settings)
    proposer.forget()
    run = Decoding(pair.target, proposer, ids, Options(**{"max_new_tokens": NEW, "ignore_eos": True} | options), pair.text)
    rounds = list(run)
    if proposer.side_nodes:
        for r in rounds:
            proofs.check_round(r)
    else:
        check.run(run, rounds, len(ids))
    return run, rounds


@pytest.fixture(scope="module")
def plain(pair):
    return {(text, x): decode(pair, "plain", pair.text.encode(text), sampling=Sampling(repetition_penalty=x))[0].new_tokens
            for text, x in ASKED}


def test_every_embedded_draft_is_tested(pair):
    assert {m.name for m in registry.available(pair)} == set(NAMES)


# Lookups, which find little in either text, with both; others with one in turn, and with both under -m long.
SHORT = {way: ASKED if way in {"lookup", "suffix"} else [ASKED[i % 2]] for i, way in enumerate(WAYS)}


@pytest.mark.parametrize(("way", "asked"), [*SHORT.items(), *(pytest.param(way, ASKED, marks=pytest.mark.long) for way in WAYS)],
                         ids=lambda x: x if isinstance(x, str) else str(len(x)))
def test_greedy_output_is_plain_decoding(pair, plain, way, asked):
    drafted = 0
    for text, penalty in asked:
        run, rounds = decode(pair, way, pair.text.encode(text), sampling=Sampling(repetition_penalty=penalty))
        assert run.new_tokens == plain[text, penalty]
        drafted += sum(len(r.drafted) for r in rounds)
    assert drafted


@pytest.mark.parametrize("way", [way for way in WAYS if way in {"draft", "lookup", "early-exit", "eagle tree"}])
def test_the_same_seed_twice(pair, way):
    sampling = Sampling(0.8, top_p=0.9)
    first, again = (facts(decode(pair, way, pair.text.encode(TEXTS[1]), sampling=sampling, seed=4, max_new_tokens=6)[1]) for _ in range(2))
    assert first == again


@pytest.mark.long
def test_one_seed_one_sampled_text(pair):
    """16 tokens, so that float32's rounding, which differs between passes of different sizes, meets no near tie."""
    options = {"sampling": Sampling(0.8, top_p=0.95), "seed": 3, "verify": "coupled"}
    ids, drafted = pair.text.encode(TEXTS[1]), 0
    texts = {}
    for way in ("plain", *(w for w in ("draft", "draft tree", "eagle", "eagle tree", "medusa", "lookup") if w in WAYS)):
        name, settings = WAYS.get(way, (way, {}))
        run = Decoding(pair.target, registry.get(name).proposer(pair, settings), ids, Options(NEW, 3, ignore_eos=True, **options), pair.text)
        rounds = list(run)
        for r in rounds:
            proofs.check_round(r)
        texts[way], drafted = run.new_tokens, drafted + sum(len(r.drafted) for r in rounds)
    assert len(texts) > 2 and set(map(tuple, texts.values())) == {tuple(texts["plain"])} and drafted > 40


def test_greedy_output_is_plain_decoding_on_20_prompts(pair):
    sources = [p.split("\n")[0][:160] for p in prompts.examples().values()]
    asked = [pair.text.encode(text[cut:]) for text in sources for cut in (0, 3, 9, 17, 30)][:20]
    assert len({tuple(ids) for ids in asked}) == 20
    for ids in asked:
        want, got = (decode(pair, way, ids, max_new_tokens=32)[0].new_tokens for way in ("plain", "draft"))
        assert got == want


# -- the sampled distribution of the first three tokens ----------------------------------------------------------------------------------------

REPEATING = [284, 260, 555, 284, 260, 4166, 284, 260]      # " and the man and the woman and the": lookups find matches, distributions are flat
TOP_3 = Sampling(1.0, top_k=3)


@pytest.fixture(scope="module")
def memory():
    return {}


@pytest.fixture
def remembered(pair, memory, monkeypatch):
    """Memoises the target's passes and head by everything that they read, the cache's content included, so that equal passes run once."""
    model = pair.target.model

    def key(*parts) -> bytes:
        total = hashlib.blake2b(digest_size=16)
        for part in parts:
            total.update(part.contiguous().numpy().tobytes() if isinstance(part, torch.Tensor) else repr(part).encode())
        return total.digest()

    def run(ids, cache=None, shape=None, *, hidden=None, layers=None, aux_layers=(), advance=True, real=model.run):
        used, start, n = list(range(len(model.layers)) if layers is None else layers), cache.length, ids.shape[1]
        at = key(used, list(aux_layers), start, ids, *(() if hidden is None else (hidden,)),
                 *(() if shape is None else (shape.depth, shape.tree_mask)),
                 cache.k[used, :, :, :start], cache.v[used, :, :, :start])
        if len(memory) > 1500:              # a gigabyte
            memory.clear()
        if at not in memory:
            out = real(ids, cache, shape, hidden=hidden, layers=layers, aux_layers=aux_layers, advance=False)
            memory[at] = out, cache.k[used, :, :, start:start + n].clone(), cache.v[used, :, :, start:start + n].clone()
        out, k, v = memory[at]
        cache.k[used, :, :, start:start + n], cache.v[used, :, :, start:start + n] = k, v
        cache.length += n * advance
        return out

    def logits(hidden, real=model.logits):
        at = key("head", hidden)
        if at not in memory:
            memory[at] = real(hidden)
        return memory[at]

    monkeypatch.setattr(model, "run", run)
    monkeypatch.setattr(model, "logits", logits)


@pytest.fixture(scope="module")
def dist(pair):
    """{three tokens: probability}, each from a forward without cache."""
    def after(*tokens: int) -> list[tuple[int, float]]:
        p = tiny.dist_after(pair.target.model, [*REPEATING, *tokens], TOP_3)
        return [(int(x), float(p[x])) for x in p.nonzero()]

    return {(a, b, c): pa * pb * pc for a, pa in after() for b, pb in after(a) for c, pc in after(a, b)}


def fit(pair, dist: dict, way: str, samples: int) -> tuple[float, int, int]:
    """(p-value of `samples` runs, number of accepted drafted tokens, number of others). Of the three tokens the last two are drafted."""
    name, settings = WAYS[way]
    proposer, cells = registry.get(name).proposer(pair, settings), list(dist)
    counts = torch.zeros(len(cells) + 1, dtype=torch.long)
    accepted: list[bool] = []
    for seed in range(samples):
        run = Decoding(pair.target, proposer, REPEATING, Options(4, 2, TOP_3, seed, ignore_eos=True, record=False))
        accepted += [d.verdict == "accepted" for r in run for d in r.drafted]
        got = tuple(run.new_tokens[:3])
        counts[cells.index(got) if got in dist else -1] += 1
    return pooled(counts, torch.tensor([*dist.values(), 0.0], dtype=torch.float64)), accepted.count(True), accepted.count(False)


FAMILIES = {"draft": "a chain that is drawn", "eagle tree": "siblings that are certain"}      # other methods run under -m long, tiny ones elsewhere


@pytest.mark.parametrize(("way", "samples"), [(way, 120) for way in WAYS if way in FAMILIES]
                         + [pytest.param(way, n, marks=pytest.mark.long) for way in WAYS if way != "early-exit skip" for n in (300, 2000)
                            if n == 2000 or way not in FAMILIES])
def test_three_sampled_tokens_follow_the_target(pair, remembered, dist, way, samples):
    p_value, accepted, others = fit(pair, dist, way, samples)
    assert p_value > 0.001 and accepted and others


def test_a_run_without_verification_is_rejected(pair, remembered, dist, monkeypatch):
    right = verify.chain
    monkeypatch.setattr(verify, "chain", lambda p, q, drafted, u, u_next: right(p, q, drafted, 0 * u - 1, u_next))
    assert fit(pair, dist, "draft", 60)[0] < 1e-6
