"""Prompt lookup, else a draft model: which one proposes when, both see every round, and what holds for every method."""
from __future__ import annotations

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.measuring import costs
from core.methods.base import Draft, Proposer
from core.methods.combined import Combined
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.prompt_lookup import PromptLookup
from core.methods.registry import METHODS
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS, REPEATING, decode

SECONDS = {"perfect": lambda to: DraftModel(to.model), "near": lambda to: tiny.near_model(to.model, 0.3),
           "other": lambda to: tiny.other_model(to.model), "wrong": lambda to: tiny.always_wrong(to.model),
           "tree": lambda to: DraftTree(tiny.near_model(to.model, 0.3).model, None, (2, 2, 1))}


def make(second, minimum=2):
    return lambda to: Combined(PromptLookup(3, minimum), SECONDS[second](to))


class Noted(Combined):
    """Notes which proposer drafted in each round."""

    def begin(self, ctx):
        self.who = [None]                       # round 0 proposes nothing
        super().begin(ctx)

    def propose(self, ctx, k):
        draft = super().propose(ctx, k)
        self.who.append(None if draft is None else self.chosen)
        return draft


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("minimum", [1, 3])
@pytest.mark.parametrize("second", SECONDS)
def test_greedy_output_is_that_of_plain_decoding(second, minimum):
    rounds = proofs.greedy_is_plain(make(second, minimum), [REPEATING, [1, 1, 1], [7], tiny.greedy(tiny.decoder(), REPEATING, 30)])
    assert any(d.verdict == "rejected" for r in rounds for d in r.drafted)


@pytest.mark.parametrize("second", ["near", "tree"])
def test_the_lookup_goes_first_where_its_match_is_long_enough(second):
    to = tiny.target()
    prompt = tiny.greedy(to.model, REPEATING, 30)
    first = PromptLookup(3, 2)
    proposer = Noted(first, SECONDS[second](to))
    run = Decoding(to, proposer, prompt, Options(30, 3, Sampling(1.0), 4))
    tokens, who = list(prompt), []
    for r in run:
        proofs.check_round(r)
        if r.drafted:
            pairs = {tuple(tokens[i:i + 2]) for i in range(len(tokens) - 2)}
            assert (proposer.who[r.index] is first) == (tuple(tokens[-2:]) in pairs)
            assert all(d.q == 1 for d in r.drafted) or proposer.who[r.index] is not first
            who.append(proposer.who[r.index] is first)
        tokens += [e.id for e in r.emitted]
    assert True in who and False in who


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), OPTIONS["penalty"]], ids=["greedy", "T=1", "penalty"])
@pytest.mark.parametrize("second", ["near", "perfect", "tree"])
def test_both_caches_agree_after_each_round(second, sampling):
    proofs.caches_agree(make(second), lambda p: (p.second.model, p.second.cache), sampling)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_a_perfect_draft_is_accepted_whenever_it_proposes(sampling):
    """Also after rounds of the lookup, and after a fully accepted draft, whose last token the draft model has not read."""
    to = tiny.target()
    proposer = Noted(PromptLookup(3, 2), DraftModel(to.model))
    for seed in range(4):
        _, rounds = decode(to, proposer, [seed, *REPEATING], sampling=sampling, seed=seed, max_new_tokens=24)
        mine = [r for r, who in zip(rounds, proposer.who) if who is proposer.second]     # the last round may draft nothing
        assert mine and all(d.verdict == "accepted" for r in mine for d in r.drafted)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("second", ["near", "tree"])
def test_the_other_proofs(second):
    proofs.penalty_is_plain(make(second), 1.3)
    proofs.penalty_is_plain(make(second), 1e9)
    proofs.lengths(make(second))
    assert proofs.eos_everywhere(make(second)) >= {0, 1, 2}
    proofs.twice(make(second))


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("tokens", [[1, 0, 1, 0], [2, 1, 0, 0]], ids=["lookup", "draft"])
def test_the_distribution_is_the_targets_by_enumeration(tokens, sampling, monkeypatch):
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=3), None, ())
    draft = tiny.decoder(7, vocab_size=3, num_layers=1)
    drafts = proofs.exact_distribution(lambda to: Combined(PromptLookup(3, 2), DraftModel(draft)), to, tokens, sampling, 2, monkeypatch)
    assert (drafts == 1) == (tokens[0] == 1) or sampling != OPTIONS["T=1"]


class Head(Proposer):
    """Stands for a draft head: it must observe the hidden states of every round, whichever proposer drafted it."""
    name, aux_layers, side_nodes, levels = "head", (0, 2), 5, 2

    def begin(self, ctx):
        self.rows, self.passes = 0, 0

    def propose(self, ctx, k):
        return Draft(torch.tensor([0]))

    def target_pass(self, target):
        self.passes += 1
        return super().target_pass(target)

    def observe(self, ctx, path):
        assert set(ctx.hidden_states) == {0, 2}
        self.rows += ctx.hidden_states[0].shape[0]
        assert self.rows == ctx.cache.length


@pytest.mark.usefixtures("runner")
def test_a_head_observes_the_hidden_states_of_every_round():
    to = tiny.target()
    proposer = Noted(PromptLookup(3, 2), Head())
    assert (proposer.aux_layers, proposer.side_nodes, proposer.levels, proposer.name) == ((0, 2), 5, 2, "lookup+head")
    _, rounds = decode(to, proposer, max_new_tokens=20)
    assert tiny.emitted(rounds) == tiny.greedy(to.model, REPEATING, 20)
    assert {w.name for w in proposer.who if w} == {"lookup", "head"}
    assert proposer.second.passes + sum(w is proposer.first for w in proposer.who) == len(rounds)      # its target pass verifies only its own drafts


def test_costs_are_those_of_the_draft():
    to = tiny.target()
    measured = costs.draft_seconds(to, Combined(PromptLookup(), DraftModel(to.model)), 2)
    assert measured > 3 * costs.draft_seconds(to, PromptLookup(), 2)


def test_the_registry_builds_it():
    method = METHODS["lookup+draft"]
    names = [s.name for s in method.settings]
    assert names[0] == "lookup_min" and {"tree", "vocab"} <= set(names) and method.needs == "draft"

    class Pair:
        target = tiny.target()

        def draft_model(self):
            return self.target.model, None

    built = method.proposer(Pair(), {"lookup_min": 4, "tree": "2x2"})
    assert (built.first.low, built.first.high) == (4, 4) and built.second.shape == (2, 2) and built.name == "lookup+draft"
