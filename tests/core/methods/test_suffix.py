"""Suffix decoding: counts, the bounded store of earlier outputs that runs share, and what holds for every method."""
from __future__ import annotations

import gc
import random
import threading

import pytest

from core.methods import suffix
from core.methods.suffix import EARLIER, Counts, Earlier, Suffix
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS, REPEATING, decode


def without_past(to):
    """A proposer without earlier outputs."""
    EARLIER.pop(to, None)
    return Suffix(to)


def drafted(tokens, k, past=(), least=0.3):
    to = tiny.target()
    proposer = Suffix(to, least)
    for output in past:
        proposer.earlier.remember(list(output))
    ctx = proofs.context(to, tokens, Sampling())
    proposer.begin(ctx)
    draft = proposer.propose(ctx, k)
    assert draft is None or draft.q is None
    return None if draft is None else draft.tokens.tolist()


def test_what_is_proposed():
    assert drafted([1, 2, 3], 4) is None
    assert drafted([1, 2, 3, 1, 2], 4)[:1] == [3]
    assert drafted([5, 1, 5, 2, 5, 2, 5], 1, least=0) == [2]                        # the most frequent
    assert drafted([9, 1, 2], 3, past=[[1, 2, 3, 4, 5]])[:2] == [3, 4]                # from an earlier output
    assert drafted([9, 1, 2], 3, past=[[1, 2, 3]] + [[1, 2, 4]] * 3, least=0.2)[0] == 4


def test_the_draft_is_as_long_as_its_estimate_is_high():
    sure = drafted([1, 2], 8, past=[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]] * 20)
    torn = drafted([1, 2], 8, past=[[1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 3, 8, 9]] * 7, least=0.4)
    assert sure == [3, 4, 5, 6, 7, 8, 9, 10] and torn == [3]
    assert len(drafted([1, 2], 8, past=[[1, 2, 3, 4, 5, 6, 7]], least=0.6)) < len(drafted([1, 2], 8, past=[[1, 2, 3, 4, 5, 6, 7]], least=0.1))


def test_counts_can_be_taken_back():
    rng = random.Random(0)
    counts, texts = Counts(), [[rng.randrange(5) for _ in range(rng.randrange(0, 40))] for _ in range(20)]
    for t in texts:
        counts.add(t)
    whole = {key: dict(row) for key, row in counts.after.items()}
    for t in texts:
        counts.add(t, by=-1)
    assert counts.after == {}
    piecewise = Counts()
    for t in texts:
        for end in range(len(t) + 1):
            piecewise.add(t[:end], max(0, end - 1))
    assert piecewise.after == whole


def test_the_store_is_bounded(monkeypatch):
    monkeypatch.setattr(suffix, "REMEMBERED", 100)
    earlier = Earlier()
    for i in range(50):
        earlier.remember([i] * 7)
    assert earlier.size <= 100 and sum(map(len, earlier.outputs)) == earlier.size and (0,) not in earlier.counts.after
    assert sum(sum(row.values()) for key, row in earlier.counts.after.items() if len(key) == 1) == earlier.size - len(earlier.outputs)
    earlier.remember(list(range(300)))
    assert earlier.size == 100 and list(earlier.outputs) == [list(range(200, 300))]


def test_runs_of_several_threads_may_read_and_add():
    to = tiny.target()
    want, wrong = tiny.greedy(to.model, REPEATING, 12), []

    def work():
        for _ in range(4):
            _, rounds = tiny.decode(to, Suffix(to), REPEATING, max_new_tokens=12)
            if tiny.emitted(rounds) != want:
                wrong.append(tiny.emitted(rounds))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and list(EARLIER[to].outputs) == [want] * 16


def test_it_learns_from_its_outputs_and_drops_them_with_the_target():
    to = tiny.target()
    first, second = (decode(to, Suffix(to), REPEATING, max_new_tokens=24, draft_len=6)[1] for _ in range(2))
    assert tiny.emitted(first) == tiny.emitted(second) == tiny.greedy(to.model, REPEATING, 24)
    assert len(second) < len(first) and len(second) <= 8
    other = tiny.target(1)
    assert Suffix(other).earlier.size == 0
    before = len(EARLIER)
    del to
    gc.collect()
    assert len(EARLIER) < before


def test_nothing_is_remembered_of_a_run_without_output():
    to = tiny.target()
    decode(to, Suffix(to), max_new_tokens=0)
    Suffix(to).end()
    assert EARLIER[to].size == 0


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("make", [without_past, Suffix], ids=["without past", "with a past"])
def test_greedy_output_is_that_of_plain_decoding(make):
    rng = random.Random(2)
    to = tiny.target()
    prompts = [REPEATING, [1, 1, 1], [7], [rng.randrange(6) for _ in range(30)], REPEATING]
    rounds = [r for k in (1, 4, 7) for r in proofs.greedy_is_plain(make, prompts, to, draft_len=k)]
    assert {d.verdict for r in rounds for d in r.drafted} == {"accepted", "rejected", "not_reached"}
    assert any(not r.drafted and r.index for r in rounds)


def test_a_past_that_is_all_wrong_or_all_right_changes_no_token():
    to = tiny.target()
    want = tiny.greedy(to.model, REPEATING, 18)
    for past in ([[*REPEATING, *[(t + 1) % 20 for t in want]]], [[*REPEATING, *want]], [[a, (b + 3) % 20] for a in range(20) for b in want]):
        EARLIER.pop(to, None)
        proposer = Suffix(to, 0.0)
        for output in past * 5:
            proposer.earlier.remember(output)
        _, rounds = decode(to, proposer, max_new_tokens=18, draft_len=5)
        assert tiny.emitted(rounds) == want
        if past == [[*REPEATING, *want]]:
            assert all(d.verdict == "accepted" for r in rounds for d in r.drafted) and len(rounds) == 1 + 3


@pytest.mark.usefixtures("runner")
def test_the_other_proofs():
    proofs.penalty_is_plain(without_past, 1.3)
    proofs.penalty_is_plain(without_past, 1e9)
    proofs.lengths(without_past)
    assert proofs.eos_everywhere(without_past, tiny.greedy(tiny.decoder(), REPEATING, 40)) >= {0, 1}
    proofs.caches_agree(without_past)
    proofs.caches_agree(without_past, sampling=Sampling(1.0))
    to = tiny.target()
    runs = [proofs.facts(decode(to, without_past(to), sampling=Sampling(1.0), seed=3)[1]) for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("past", [[], [[1, 0, 1, 2, 2, 3]]], ids=["no past", "a past"])
def test_the_distribution_is_the_targets_by_enumeration(past, sampling, monkeypatch):
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=4), None, ())
    for output in past:
        Suffix(to).earlier.remember(output)
    assert proofs.exact_distribution(lambda to: Suffix(to, 0.0), to, [1, 0, 1], sampling, 3, monkeypatch) == 1
