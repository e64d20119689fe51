"""A draft model's recorded q is what it drew from, with equal, larger, smaller and reduced vocabularies; no id beyond the tokenizer is emitted."""
from __future__ import annotations

import pytest
import torch

from core.methods.base import Context
from core.methods.draft_model import DraftModel
from core.models.target import DecoderTarget
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import F64, PROMPT, decode, emitted

VARIED = {"greedy": Sampling(), "T=1": Sampling(1.0), "penalty": Sampling(1.2, top_p=0.95, repetition_penalty=1.7)}


def padded(vocab_size: int, head: int = 20) -> DecoderTarget:
    """A target whose head has rows beyond its tokenizer's last id; unless they are cut off, they always win."""
    model = tiny.decoder(vocab_size=head)
    model.head.weight.data[vocab_size:] *= 30
    return DecoderTarget(model, vocab_size, ())


@pytest.mark.parametrize("sampling", VARIED.values(), ids=VARIED)
@pytest.mark.parametrize(("target_size", "draft_size"), [(12, 10), (10, 12), (12, 12), (20, 3)])
def test_vocabularies_of_different_size(target_size, draft_size, sampling):
    """q is padded with 0, and target ids that the draft does not have do not stop it."""
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=target_size), None, ())
    for seed in range(3):
        run, rounds = decode(to, DraftModel(tiny.decoder(7, vocab_size=draft_size)), [1, 2, target_size - 1], sampling=sampling, seed=seed)
        check.run(run, rounds, 3)
        assert all(d.id < min(target_size, draft_size) for r in rounds for d in r.drafted)
        assert any(r.drafted for r in rounds)
    if sampling.greedy:
        assert emitted(rounds) == tiny.greedy(to.model, [1, 2, target_size - 1], 16)


@pytest.mark.parametrize("sampling", VARIED.values(), ids=VARIED)
@pytest.mark.parametrize("make", [lambda to: DraftModel(to.model), lambda to: DraftModel(tiny.decoder(7)), lambda to: tiny.Uniform()],
                         ids=["same padded head", "other", "uniform"])
def test_ids_beyond_the_tokenizer_are_never_emitted(make, sampling):
    to = padded(13)
    for seed in range(4):
        run, rounds = decode(to, make(to), sampling=sampling, seed=seed)
        check.run(run, rounds, len(PROMPT))
        assert max(emitted(rounds)) < 13 and all(max(t.ids) < 13 for r in rounds for t in r.tables)
    if sampling.greedy:
        assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16, vocab_size=13)


@pytest.mark.parametrize("sampling", VARIED.values(), ids=VARIED)
@pytest.mark.parametrize("ids", [[0, 2, 5], [19], list(range(20)), [1, 3, 4, 5, 10, 12, 17]], ids=len)
def test_a_reduced_head_drafts_target_ids(ids, sampling):
    """A row number of a reduced head is not a token id. The recorded q is the rows' distribution, scattered to the target's vocabulary."""
    to, ids_of_rows = tiny.target(), torch.tensor(ids)
    model = tiny.decoder(7, head_size=len(ids))
    run, rounds = decode(to, DraftModel(model, ids_of_rows), sampling=sampling, seed=1)
    check.run(run, rounds, len(PROMPT))
    tokens = list(PROMPT)
    for r in rounds:
        prefix = list(tokens)
        for d in r.drafted:
            seen = torch.zeros(20, dtype=torch.bool)
            seen[prefix] = True
            dist = tiny.probs.probabilities(tiny.probs.scores(tiny.logits_after(model, prefix), sampling, seen[ids_of_rows]), sampling)
            assert d.q == pytest.approx(float(dist[ids.index(d.id)]), abs=1e-9)
            prefix.append(d.id)
        tokens += [e.id for e in r.emitted]
    if sampling.greedy:
        assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16)


def test_a_reduced_head_that_is_the_targets_own_is_perfect():
    """All of the target's rows in another order: any mix-up of rows and ids shows as a rejection."""
    to, order = tiny.target(), torch.randperm(20, generator=torch.Generator().manual_seed(0))
    model = tiny.decoder()
    model.head.weight = torch.nn.Parameter(model.head.weight[order], requires_grad=False)
    for sampling in VARIED.values():
        run, rounds = decode(to, DraftModel(model, order), sampling=sampling)
        check.run(run, rounds, len(PROMPT))
        assert all(d.verdict == "accepted" for r in rounds for d in r.drafted)


def test_drafted_tokens_follow_their_recorded_q():
    """Not an argmax with a softmax recorded as q: the first drafted token of 1,500 draws against its q."""
    to, draft = tiny.target(), DraftModel(tiny.decoder(7))
    counts, dist = torch.zeros(20, dtype=F64), None
    ctx = context(to)
    draft.begin(ctx)
    with torch.inference_mode():
        for _ in range(1500):
            draft.cache.truncate(min(draft.cache.length, len(PROMPT) - 1))
            proposal = draft.propose(ctx, 1)
            counts[int(proposal.tokens[0])] += 1
            dist = proposal.q[0]
    assert float((counts / 1500 - dist).abs().max()) < 4 * (0.25 / 1500) ** 0.5
    assert counts[dist == 0].sum() == 0 and (counts > 0).sum() > 3


def context(to) -> Context:
    return Context(list(PROMPT), Sampling(1.0), torch.Generator().manual_seed(0), 20, 40, to.device, F64, to, to.new_cache(40))


def test_recorded_logits_leave_out_ids_that_the_draft_does_not_have():
    to, ids_of_rows = tiny.target(), torch.tensor([4, 9])
    draft = DraftModel(tiny.decoder(7, head_size=2), ids_of_rows)
    ctx = context(to)
    draft.begin(ctx)
    with torch.inference_mode():
        proposal = draft.propose(ctx, 3)
    assert torch.isfinite(proposal.logits).sum(-1).tolist() == [2, 2, 2]
    assert (proposal.q > 0).nonzero()[:, 1].unique().tolist() == [4, 9]
