"""Prompt lookup: what it finds, that a round costs the same after any length of context, and what holds for every method."""
from __future__ import annotations

import random

import pytest
import torch

from core.errors import UserError
from core.methods.prompt_lookup import NgramIndex, PromptLookup
from core.methods.registry import METHODS
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS, REPEATING
from tests.core.tiny import decode

SETTINGS = {"1-3": (3, 1, "recent"), "first": (3, 1, "first"), "2-2": (2, 2, "recent"), "1-1": (1, 1, "first"), "4-6": (6, 4, "recent")}
LIKE_THE_OUTPUT = tiny.greedy(tiny.decoder(), REPEATING, 40)


def make(name):
    return lambda to: PromptLookup(*SETTINGS[name])


def drafted(tokens: list[int], k: int, *settings) -> list[int] | None:
    lookup = PromptLookup(*settings)
    ctx = proofs.context(tiny.target(), tokens, Sampling())
    lookup.begin(ctx)
    draft = lookup.propose(ctx, k)
    assert draft is None or (draft.q is None and draft.parents is None)
    return None if draft is None else draft.tokens.tolist()


@pytest.mark.parametrize(("tokens", "k", "settings", "want"), [
    ([1, 2, 3, 9, 1, 2, 3], 2, (3, 1), [9, 1]),             # the longest match wins
    ([7, 3, 8, 1, 3, 5, 3], 2, (3, 1), [5, 3]),             # the most recent of several matches
    ([7, 3, 8, 1, 3, 5, 3], 2, (3, 1, "first"), [8, 1]),
    ([1, 2, 3, 9, 4, 3], 3, (3, 1), [9, 4, 3]),
    ([1, 2, 3, 9, 4, 3], 3, (3, 2), None),                  # one token is no match of two
    ([5, 6, 7, 8], 3, (3, 1), None),
    ([4], 3, (3, 1), None),
    ([4, 4], 5, (3, 1), [4] * 5),                           # a repeating text goes on with the tokens just drafted
    ([1, 2, 1, 2, 1], 6, (3, 1), [2, 1, 2, 1, 2, 1]),
    ([9, 1, 2, 9, 1], 9, (3, 1), [2, 9, 1] * 3)])
def test_what_is_proposed(tokens, k, settings, want):
    assert drafted(tokens, k, *settings) == want


@pytest.mark.parametrize("recent", [True, False])
def test_the_index_finds_what_a_search_of_the_whole_text_finds(recent):
    rng = random.Random(0)
    for _ in range(60):
        tokens, index = [rng.randrange(4)], NgramIndex(1, 4, recent)
        while len(tokens) < 40:
            tokens += [rng.randrange(4) for _ in range(rng.randrange(1, 5))]
            index.extend(tokens)
            want = None
            for n in (4, 3, 2, 1):
                ends = [i for i in range(n, len(tokens)) if tokens[i - n:i] == tokens[-n:]]
                if ends and n <= len(tokens):
                    want = ends[-1] if recent else ends[0]
                    break
            assert index.find(tokens) == want


class Counted(dict):
    """A dict that counts its operations."""
    operations = 0

    def __setitem__(self, key, value):
        Counted.operations += 1
        super().__setitem__(key, value)

    def get(self, key, default=None):
        Counted.operations += 1
        return super().get(key, default)


def test_a_round_costs_the_same_after_200_and_after_8000_tokens():
    """Counted in dictionary operations."""
    rng = random.Random(1)
    operations = {}
    for length in (200, 8000):
        tokens = [rng.randrange(300) for _ in range(length)]
        ctx = proofs.context(tiny.target(), [1], Sampling())
        ctx.tokens, lookup = tokens, PromptLookup()
        lookup.begin(ctx)
        lookup.index.positions = Counted()
        lookup.propose(ctx, 4)
        Counted.operations = 0
        for _ in range(200):
            tokens += [rng.randrange(300) for _ in range(3)]
            lookup.propose(ctx, 4)
        operations[length] = Counted.operations
    assert operations[8000] <= operations[200] <= 200 * (3 * 3 + 3)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", SETTINGS)
def test_greedy_output_is_that_of_plain_decoding(name):
    rng = random.Random(2)
    prompts = [REPEATING, [1, 1, 1], [7], [rng.randrange(6) for _ in range(30)], LIKE_THE_OUTPUT]
    rounds = [r for k in (1, 4, 7) for r in proofs.greedy_is_plain(make(name), prompts, draft_len=k)]
    assert {d.verdict for r in rounds for d in r.drafted} == {"accepted", "rejected", "not_reached"}
    assert any(not r.drafted and r.index for r in rounds)           # no match: the round decodes one plain token
    assert {e.kind for r in rounds if not r.drafted for e in r.emitted} == {"plain"}


@pytest.mark.usefixtures("runner")
def test_always_wrong_and_always_right():
    model = tiny.decoder()
    wrong = tiny.target()
    wrong.model.head.weight.data[5] *= 0
    wrong.model.final_norm.data *= 3                # token 5 is never the likeliest, but the only one that follows 3 in the prompt
    prompt = [3, 5, 3, 5, 3]
    run, rounds = decode(wrong, PromptLookup(), prompt, max_new_tokens=12)
    check.run(run, rounds, len(prompt))
    assert tiny.emitted(rounds) == tiny.greedy(wrong.model, prompt, 12)

    class Constant(tiny.DecoderTarget):             # a target that always repeats the last token
        def verify(self, ids, cache, last, shape=None, aux_layers=()):
            logits, hidden_states = super().verify(ids, cache, last, shape, aux_layers)
            return torch.nn.functional.one_hot(ids[-last:], self.vocab_size).to(logits.dtype) * 50, hidden_states

    run, rounds = decode(Constant(model, None, ()), PromptLookup(), [7, 7], max_new_tokens=26, draft_len=4)
    check.run(run, rounds, 2)
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted) and len(rounds) == 1 + 5
    assert [r.draft_len for r in rounds[1:]] == [4] * 5


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", ["1-3", "first"])
def test_the_other_proofs(name):
    proofs.penalty_is_plain(make(name), 1.3)
    proofs.penalty_is_plain(make(name), 1e9)
    proofs.lengths(make(name))
    assert proofs.eos_everywhere(make(name), LIKE_THE_OUTPUT) >= {0, 1}
    proofs.twice(make(name))
    proofs.caches_agree(make(name))
    proofs.caches_agree(make(name), sampling=Sampling(1.0))


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("tokens", [[1, 0, 1], [2, 2], [0, 1, 2, 0, 1]], ids=str)
def test_the_distribution_is_the_targets_by_enumeration(tokens, sampling, monkeypatch):
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=4), None, ())
    assert proofs.exact_distribution(make("1-3"), to, tokens, sampling, 3, monkeypatch) == 1


def test_settings():
    lookup = METHODS["lookup"]
    built = lookup.proposer(None, {"ngram_max": "5", "ngram_min": "2", "lookup_match": "first"})
    assert (built.low, built.high, built.recent) == (2, 5, False)
    for bad in ({"ngram_min": 4}, {"ngram_max": 0}, {"ngram_max": "x"}, {"lookup_match": "last"}, {"tree": "2x2"}):
        with pytest.raises(UserError, match="--"):
            lookup.proposer(None, bad)
