"""Early exits and skipped layers: what holds for every method, the draft's logits, the cache after a failure, wrong layers."""
from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

from core.checkpoints import weights
from core.errors import UserError
from core.methods.early_exit import EarlyExit, draft_layers
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import REPEATING

MAKES = {"exit": lambda to: EarlyExit(to, "1"), "skip the first": lambda to: EarlyExit(to, skip_layers="0"),
         "skip the last": lambda to: EarlyExit(to, skip_layers="1"), "confident": lambda to: EarlyExit(to, "0.5", confidence=0.4)}
PROMPTS = [[3, 1, 4, 1, 5], [7], REPEATING]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", MAKES)
def test_greedy_output_is_that_of_plain_decoding(name):
    rounds = proofs.greedy_is_plain(MAKES[name], PROMPTS)
    assert {"accepted", "rejected"} <= {d.verdict for r in rounds for d in r.drafted}


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", MAKES)
def test_the_other_proofs(name):
    make = MAKES[name]
    proofs.penalty_is_plain(make, 1.9)
    proofs.lengths(make)
    proofs.eos_everywhere(make)
    proofs.twice(make)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("name", "sampling"), list(itertools.product(MAKES, [Sampling(), Sampling(1.0)])))
def test_the_cache_agrees_with_a_fresh_forward_after_each_round(name, sampling):
    proofs.caches_agree(MAKES[name], sampling=sampling)


def test_a_prefix_drafts_what_a_model_of_its_layers_would():
    to = tiny.target(num_layers=4)
    c = dataclasses.replace(to.model.config, num_layers=2)
    tensors = {n: x for n, x in tiny.random_tensors(to.model.config, 0).items() if not n.startswith(("model.layers.2.", "model.layers.3."))}
    short = weights.build(c, tensors, "tiny", tiny.F64, "cpu")

    class Watched(EarlyExit):
        def propose(self, ctx, k):
            draft = super().propose(ctx, k)
            seen.append((list(ctx.tokens), draft))
            return draft

    seen: list = []
    tiny.decode(to, Watched(to, "2"), REPEATING, sampling=Sampling(1.0))
    assert len(seen) > 2
    for tokens, draft in seen:
        for i, got in enumerate(draft.logits):
            torch.testing.assert_close(got, tiny.logits_after(short, [*tokens, *draft.tokens[:i].tolist()]), rtol=0, atol=1e-9)


def test_a_draft_that_looks_at_its_tokens_is_never_captured():
    to = tiny.target()
    assert EarlyExit(to, "1").direct is None
    for confidence in (0.0, 0.6):
        to.graphs = None
        tiny.decode(to, EarlyExit(to, "1", confidence=confidence), graphs=True)
        assert {type(key[0]).__name__ for key in to.graphs.captured} == ({"Verification"} if confidence else {"Verification", "ExitChain"})


def test_confidence_ends_a_draft_after_the_first_unlikely_token():
    to = tiny.target()
    _, rounds = tiny.decode(to, EarlyExit(to, "1", confidence=0.6), sampling=Sampling(1.0), draft_len=6, seed=1, max_new_tokens=30)
    lengths = {len(r.drafted) for r in rounds[1:]}
    assert len(lengths) > 1
    for r in rounds[1:-1]:
        assert all(d.q >= 0.6 for d in r.drafted[:-1]) and (len(r.drafted) == r.draft_len or r.drafted[-1].q < 0.6)


def test_a_failing_draft_leaves_the_cache_as_it_was(monkeypatch):
    """The draft writes into the target's own cache, whose length must come back even after an exception."""
    to = tiny.target()
    ctx, proposer = proofs.context(to, REPEATING, Sampling()), EarlyExit(to, "1")
    with torch.inference_mode():
        to.verify(torch.tensor(REPEATING[:-1]), ctx.cache, 1)
    proposer.begin(ctx)
    calls = iter([False, False, False, True])

    def run(*args, real=to.model.run, **more):
        if next(calls):
            raise RuntimeError
        return real(*args, **more)

    monkeypatch.setattr(to.model, "run", run)
    with torch.inference_mode(), pytest.raises(RuntimeError):
        proposer.propose(ctx, 4)
    assert ctx.cache.length == len(REPEATING) - 1


@pytest.mark.parametrize(("exit_layer", "skip", "count"), [("0.7", "", 21), ("29", "", 29), ("0.7", "8-20,24", 16), ("0.7", "29,3-3", 28)])
def test_layers_that_a_draft_runs(exit_layer, skip, count):
    assert len(draft_layers(30, exit_layer, skip)) == count


def test_an_exit_and_a_skip_set_are_not_given_together():
    with pytest.raises(UserError, match="not both"):
        draft_layers(30, "10", "3")


@pytest.mark.parametrize(("exit_layer", "skip"), [
    *((x, "") for x in ("0", "30", "31", "-1", "1.5", "0.001", "0.999", "nan", "inf", "1e400", "x", "")),
    *(("0.7", x) for x in ("30", "0-29", "0-30", "0-99999999999", "5-3", "1,,2", "-3", "x", "²", "9" * 5000, "1-2-3", ","))])
def test_layers_that_do_not_exist_are_refused(exit_layer, skip):
    with pytest.raises(UserError, match="--skip-layers" if skip else "--exit-layer"):
        draft_layers(30, exit_layer, skip)
