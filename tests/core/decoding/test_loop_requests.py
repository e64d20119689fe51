"""Requests that cannot run, unusual drafts, and how often a round waits for the device."""
from __future__ import annotations

import pytest
import torch

from core.decoding import round_clock
from core.decoding.loop import Decoding, Options
from core.errors import EnvironmentFailure, UserError
from core.methods.base import Draft, Proposer
from core.methods.draft_model import DraftModel
from core.models.text import NoText
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import PROMPT, decode, emitted

pytestmark = pytest.mark.usefixtures("runner")


@pytest.mark.parametrize(("prompt", "said"), [([], "empty"), ([20], "20"), ([-1], "-1"), ([3, 10 ** 30], "vocabulary"), ([1] * 64, "64"),
                                              ([1] * 99, "99")])
def test_prompts_that_cannot_run(prompt, said):
    with pytest.raises(UserError, match=said):
        Decoding(tiny.target(), Proposer(), prompt, Options())


@pytest.mark.parametrize(("bad", "said"), [
    ({"max_new_tokens": -1}, "max-new-tokens"), ({"draft_len": -1}, "draft-len"), ({"draft_len": 1.5}, "draft-len"), ({"stop": ("a", "")}, "stop"),
    ({"seed": -1}, "seed"), ({"seed": 2 ** 63}, "seed")])
def test_options_out_of_range(bad, said):
    with pytest.raises(UserError, match="--" + said):
        Options(**bad)


@pytest.mark.parametrize("value", [-0.1, 1.1, 1e300, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_typical_acceptance_wants_shares(name, value):
    with pytest.raises(UserError, match=name):
        Options(**{f"typical_{name}": value})
    Options(typical_epsilon=1e-320, typical_delta=1)            # 0 in float32, where every token of positive probability is above it too


@pytest.mark.parametrize("most", [0, 1, 2])
def test_drafts_shorter_than_asked(most):
    to = tiny.target()
    script = tiny.Scripted(tiny.perfect(to.model).choose, most)
    run, rounds = decode(to, script, draft_len=5)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16)
    assert max(len(r.drafted) for r in rounds) == most


def test_an_empty_draft_is_plain_decoding():
    class Empty(Proposer):
        def propose(self, ctx, k):
            return Draft(torch.empty(0, dtype=torch.long))
    run, rounds = decode(tiny.target(), Empty())
    check.run(run, rounds, len(PROMPT))
    assert {e.kind for r in rounds for e in r.emitted} == {"plain"}


@pytest.mark.parametrize("logits", [True, False])
def test_a_draft_may_leave_out_its_logits(logits):
    class Bare(tiny.Uniform):
        def propose(self, ctx, k):
            draft = super().propose(ctx, k)
            return Draft(draft.tokens, draft.q, draft.logits if logits else None)
    run, rounds = decode(tiny.target(), Bare(), sampling=Sampling(1.0))
    check.run(run, rounds, len(PROMPT))
    assert any(t.logit_q for r in rounds for t in r.tables) == logits


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9, 11])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_vocabularies_smaller_than_a_table(size, sampling):
    to = tiny.target(vocab_size=size) if size == 20 else tiny.DecoderTarget(tiny.decoder(vocab_size=size), None, ())
    run, rounds = decode(to, tiny.other_model(to.model), [0, 1], sampling=sampling)
    check.run(run, rounds, 2)
    assert all(len(t.ids) == size for r in rounds for t in r.tables if size <= 9)


def test_nothing_waits_for_the_device_more_than_once_a_round():
    from core.models import host_copy
    to, before = tiny.target(), host_copy.waits
    _, rounds = decode(to, DraftModel(to.model), sampling=Sampling(1.2, repetition_penalty=1.5))
    assert host_copy.waits - before == len(rounds)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_round_is_finished_while_the_next_one_runs(ahead):
    to, happened = tiny.target(), []

    class Watched(NoText):
        def piece(self, token):
            happened.append("finished")
            return super().piece(token)

    real = to.verify
    to.verify = lambda *args, **more: happened.append("pass") or real(*args, **more)
    rounds = list(Decoding(to, Proposer(), [3, 1], Options(3, ahead=ahead, ignore_eos=True, record=False), Watched()))
    assert len(rounds) == 3
    assert happened == (["pass", "pass", "finished", "pass", "finished", "finished"] if ahead else ["pass", "finished"] * 3)


def test_device_work_between_rounds_is_decoding_time(monkeypatch):
    monkeypatch.setattr(round_clock, "seconds", lambda first, last: 3.0)
    rounds = list(Decoding(tiny.target(), Proposer(), [3, 1], Options(4, ahead=True, ignore_eos=True)))
    assert [round(r.elapsed_s) for r in rounds] == [6, 12, 18, 24]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_logits_that_are_not_finite_end_in_one_sentence(sampling):
    to, broken = tiny.target(), tiny.target()
    broken.model.final_norm.data.fill_(float("nan"))
    with pytest.raises(EnvironmentFailure, match=r"target.*--dtype"):
        decode(broken, Proposer(), sampling=sampling)
    if not sampling.greedy:
        with pytest.raises(EnvironmentFailure, match=r"draft.*--dtype"):
            decode(to, DraftModel(broken.model), sampling=sampling)
