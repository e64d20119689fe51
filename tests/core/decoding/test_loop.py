"""The decode loop: output equal to plain decoding, caches that agree with a forward without cache, seeds, and state between runs."""
from __future__ import annotations

import itertools

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import DRAFTS, F32, F64, PROMPT, decode, emitted

pytestmark = pytest.mark.usefixtures("runner")
LENGTHS = [1, 2, 3, 4, 7]
SAMPLINGS = {"T=1": Sampling(1.0), "k,p,min": Sampling(0.8, 12, 0.9, 0.02), "penalty": Sampling(1.2, repetition_penalty=1.5)}


@pytest.fixture(scope="module", params=[F64, F32], ids=["float64", "float32"])
def to(request):
    return tiny.target(dtype=request.param)


@pytest.mark.parametrize("draft_len", LENGTHS)
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_output_is_that_of_plain_decoding(to, name, draft_len):
    run, rounds = decode(to, DRAFTS[name](to.model), draft_len=draft_len)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16)


def test_plain_is_the_same_loop_with_no_draft(to):
    run, rounds = decode(to, Proposer())
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 16) and len(rounds) == 16
    assert {e.kind for r in rounds for e in r.emitted} == {"plain"}


@pytest.mark.parametrize("prompt", [[1, 1, 1], [7], list(range(20))])
def test_the_first_drafted_token_is_verified_too(to, prompt):
    """It has no drafted token before it; its distribution comes from the last uncached token's row."""
    _, rounds = decode(to, tiny.always_wrong(to.model), prompt)
    assert emitted(rounds) == tiny.greedy(to.model, prompt, 16)
    assert all(d.verdict != "accepted" for r in rounds for d in r.drafted)


@pytest.mark.parametrize("penalty", [1e9, 1.3, 0.5])
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_with_a_penalty_uses_each_positions_own_prefix(name, penalty):
    """Drafted tokens before a position belong to its prefix."""
    to, sampling = tiny.target(), Sampling(repetition_penalty=penalty)
    run, rounds = decode(to, DRAFTS[name](to.model), sampling=sampling)
    check.run(run, rounds, len(PROMPT))
    tokens = list(PROMPT)
    for token in emitted(rounds):
        assert token == int(tiny.dist_after(to.model, tokens, sampling).argmax())
        tokens.append(token)
    if penalty == 1e9:
        assert len(set(tokens[len(PROMPT):])) >= 15


@pytest.mark.parametrize("sampling", [Sampling(), *SAMPLINGS.values()], ids=["greedy", *SAMPLINGS])
@pytest.mark.parametrize("draft_len", LENGTHS)
def test_a_perfect_draft_is_accepted_in_every_round(sampling, draft_len):
    """Also after a fully accepted draft, whose last token the draft model has not read."""
    to = tiny.target()
    run, rounds = decode(to, DraftModel(to.model), draft_len=draft_len, sampling=sampling, max_new_tokens=23, seed=5)
    check.run(run, rounds, len(PROMPT))
    for r in rounds[1:]:
        assert [d.verdict for d in r.drafted] == ["accepted"] * r.draft_len
        assert [d.threshold for d in r.drafted] == pytest.approx([1.0] * r.draft_len, abs=1e-9)
    assert len(rounds) == 1 + -(-22 // (draft_len + 1))


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_after_each_round_the_cache_agrees_with_a_fresh_forward(n, dtype):
    """Rejected entries must not stay in the cache: for n = 0 to k accepted tokens in every round."""
    to = tiny.target(dtype=dtype)
    run = Decoding(to, tiny.right_for(to.model, n), PROMPT, Options(24, 4))
    for r in run:
        if r.index and r.draft_len == 4:
            assert sum(d.verdict == "accepted" for d in r.drafted) == n
        if run.stop is None:
            assert run.ctx.cache.length == len(run.tokens) - 1
            agree(to.model, run.ctx.cache, run.tokens)
    assert run.new_tokens == tiny.greedy(to.model, PROMPT, 24)


@pytest.mark.parametrize("dtype", [F64, F32])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_after_each_round_the_drafts_cache_agrees_too(sampling, dtype):
    to, counts = tiny.target(dtype=dtype), set()
    for seed in range(6):
        draft = tiny.near_model(to.model, 0.3)
        run = Decoding(to, draft, [seed, *PROMPT], Options(24, 3, sampling, seed))
        for r in run:
            counts.add(sum(d.verdict == "accepted" for d in r.drafted))
            if run.stop is None:
                agree(to.model, run.ctx.cache, run.tokens)
                agree(draft.model, draft.cache, run.tokens)
    assert counts == {0, 1, 2, 3}


def agree(model, cache, tokens):
    """The logits after `tokens` are the same with the cache and without."""
    assert cache.length <= len(tokens) - 1
    length = cache.length
    with torch.inference_mode():
        got = model(torch.tensor([tokens[length:]]), cache)[0, -1]
    cache.truncate(length)
    torch.testing.assert_close(got, tiny.logits_after(model, tokens), rtol=0, atol=1e-9 if got.dtype == F64 else 1e-4)


# -- sampling, seeds, state --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize(("name", "dtype"), [*itertools.product(DRAFTS, [F64]), ("near", F32), ("perfect", F32)])
def test_every_sampled_round_is_consistent(name, dtype, sampling):
    to = tiny.target(dtype=dtype)
    for seed in range(3):
        run, rounds = decode(to, DRAFTS[name](to.model), sampling=sampling, seed=seed, draft_len=3, max_new_tokens=12)
        check.run(run, rounds, len(PROMPT))
        recorded_p_is_right(to, rounds, sampling)


def recorded_p_is_right(to, rounds, sampling):
    """The recorded p of every drafted token is the target's probability after its own prefix, by a forward without cache."""
    tokens = list(PROMPT)
    for r in rounds:
        prefix = list(tokens)
        for d in r.drafted:
            dist = tiny.dist_after(to.model, prefix, sampling)
            assert d.p == pytest.approx(float(dist[d.id]), abs=1e-9 if dist.dtype == F64 else 1e-4)
            prefix.append(d.id)
        tokens += [e.id for e in r.emitted]


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("seed", [0, 1, 2 ** 63 - 1])
def test_a_seed_repeats_its_run_also_with_the_same_proposer(name, seed):
    """No state of a run is left in the next one."""
    to, options = tiny.target(), {"sampling": SAMPLINGS["penalty"], "seed": seed, "max_new_tokens": 24}
    proposer = DRAFTS[name](to.model)
    first, again = decode(to, proposer, **options)[1], decode(to, proposer, **options)[1]
    new = decode(to, DRAFTS[name](to.model), **options)[1]
    assert facts(first) == facts(again) == facts(new)


def facts(rounds):
    return [(r.draft_len, [vars(d) for d in r.drafted], [vars(e) for e in r.emitted], [vars(t) for t in r.tables]) for r in rounds]


def test_seeds_differ_and_uniforms_do_not_repeat():
    """A uniform that is used twice would make the output depend on the draft."""
    to, seen, outputs = tiny.target(), [], set()
    for seed in range(6):
        _, rounds = decode(to, tiny.other_model(to.model), sampling=Sampling(1.5), seed=seed, max_new_tokens=30)
        seen += [d.u for r in rounds for d in r.drafted]
        outputs.add(tuple(emitted(rounds)))
    assert len(set(seen)) == len(seen) and len(outputs) == 6
    assert 0.35 < sum(seen) / len(seen) < 0.65


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), SAMPLINGS["penalty"]], ids=["greedy", "T=1", "penalty"])
def test_recording_changes_no_token(name, sampling):
    to = tiny.target()
    (_, with_tables), (run, without) = (decode(to, DRAFTS[name](to.model), sampling=sampling, record=r, seed=3) for r in (True, False))
    check.run(run, without, len(PROMPT))
    assert [f[:3] for f in facts(with_tables)] == [f[:3] for f in facts(without)]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_closing_the_iterator_ends_the_run_and_frees_the_caches(after):
    to = tiny.target()
    proposer = DraftModel(to.model)
    run = Decoding(to, proposer, PROMPT, Options(32, 2))
    rounds = iter(run)
    for _ in range(after):
        next(rounds)
    rounds.close()
    assert run.stop == "cancelled" and run.ctx.cache is None and proposer.cache is None
    assert list(run) == [] and run.stop == "cancelled"


@pytest.mark.parametrize("name", DRAFTS)
def test_a_run_that_ends_by_itself_frees_the_caches(name):
    to = tiny.target()
    run, _ = decode(to, DRAFTS[name](to.model))
    assert run.ctx.cache is None and getattr(run.proposer, "cache", None) is None


def test_a_failing_proposer_frees_the_caches_and_leaves_the_model_alone():
    to, before = tiny.target(), tiny.greedy(tiny.decoder(), PROMPT, 5)

    class Failing(tiny.Scripted):
        def propose(self, ctx, k):
            if len(self.asked) == 2:
                raise RuntimeError("no")
            return super().propose(ctx, k)

    run = Decoding(to, Failing(lambda t: 0), PROMPT, Options(32, 2))
    with pytest.raises(RuntimeError, match="no"):
        list(run)
    assert run.stop == "cancelled" and run.ctx.cache is None
    assert emitted(decode(to, Proposer(), max_new_tokens=5)[1]) == before
