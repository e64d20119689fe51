"""Draft trees: siblings without replacement, exact by enumeration; after a round the draft's cache holds only the accepted path."""
from __future__ import annotations

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.methods import draft
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.static_tree import StaticTree
from core.sampling import probs, verify
from core.sampling.probs import Sampling
from core.sampling.tree import Tree
from tests.core import tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS, REPEATING, decode
from tests.core.sampling import test_statistics
from tests.core.tiny import F64

SHAPES = [(1,), (3,), (2, 2), (3, 2, 1), (1, 1, 1, 1), (4, 1, 1)]


def opposite(model):
    """The target with its head negated: its likeliest tokens are the target's least likely."""
    out = tiny.decoder()
    out.head.weight = torch.nn.Parameter(-out.head.weight)
    return out


DRAFTS = {"perfect": lambda model: model, "wrong": opposite, "other": lambda model: tiny.other_model(model).model,
          "near": lambda model: tiny.near_model(model, 0.3).model}


def make(name, shape, token_map=None):
    return lambda to: DraftTree(DRAFTS[name](to.model), token_map, shape)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", DRAFTS)
def test_greedy_output_is_that_of_plain_decoding(name, shape):
    prompts = [REPEATING, [1, 1, 1], [7], list(range(20))]
    rounds = proofs.greedy_is_plain(make(name, shape), prompts)
    accepted = sum(d.verdict == "accepted" for r in rounds for d in r.drafted)
    assert (accepted == 0) == (name == "wrong")


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("penalty", [1e9, 1.3])
@pytest.mark.parametrize("name", ["perfect", "other"])
def test_greedy_with_a_penalty(name, penalty):
    proofs.penalty_is_plain(make(name, (3, 2, 1)), penalty)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [Sampling(), *OPTIONS.values()], ids=["greedy", *OPTIONS])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_perfect_draft_is_accepted_to_the_last_level_in_every_round(shape, sampling):
    """The first sibling is drawn from the target's own distribution, so it is always accepted."""
    to = tiny.target()
    _, rounds = decode(to, make("perfect", shape)(to), sampling=sampling, max_new_tokens=23, seed=5)
    for r in rounds[1:]:
        assert sum(d.verdict == "accepted" for d in r.drafted) == r.draft_len == min(len(shape), 22 - r.start)
        assert r.drafted == [] or r.drafted[0].verdict == "accepted"


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("shape", [(3,), (2, 2), (3, 2, 1)], ids=str)
@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
def test_both_caches_agree_with_a_fresh_forward_after_each_round(name, shape, sampling):
    proofs.caches_agree(make(name, shape), lambda p: (p.model, p.cache), sampling)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", DRAFTS)
def test_stopping(name):
    proofs.lengths(make(name, (3, 2, 1)))
    places = proofs.eos_everywhere(make(name, (2, 1, 1)))
    if name == "perfect":
        assert places >= {0, 1, 2}
    proofs.twice(make(name, (2, 2)))


@pytest.mark.parametrize("sampling", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("size", "shape"), [(4, (3,)), (3, (2, 2)), (3, (3, 1)), (4, (2, 1)), (2, (2, 2))], ids=str)
def test_the_distribution_is_the_targets_by_enumeration(size, shape, sampling, monkeypatch):
    """Every drawn tree and every result of verification. With top-k 2 a third sibling has nothing left to be drawn from."""
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=size), None, ())
    draft = tiny.decoder(7, vocab_size=size, num_layers=1)
    drafts = proofs.exact_distribution(lambda to: DraftTree(draft, None, shape), to, [1, 0, 1], sampling, len(shape), monkeypatch)
    assert drafts > 1 or sampling != OPTIONS["T=1"]


@pytest.mark.parametrize("shape", [(3,), (2, 2)], ids=str)
def test_the_distribution_with_a_reduced_head_and_with_greedy_children(shape, monkeypatch):
    to = tiny.DecoderTarget(tiny.decoder(vocab_size=4), None, ())
    reduced = tiny.decoder(7, vocab_size=4, head_size=3)
    proofs.exact_distribution(lambda to: DraftTree(reduced, torch.tensor([0, 1, 3]), shape), to, [1, 0, 3], OPTIONS["T=1"], len(shape), monkeypatch)
    likeliest = lambda to: Deterministic(tiny.decoder(7, vocab_size=4), None, shape)     # noqa: E731
    assert proofs.exact_distribution(likeliest, to, [1, 0, 3], OPTIONS["penalty"], len(shape), monkeypatch) == 1


class Deterministic(DraftTree):
    """Drafts the likeliest children (q None) although the run samples."""

    def propose(self, ctx, k):
        sampling, ctx.sampling = ctx.sampling, Sampling()
        try:
            return super().propose(ctx, k)
        finally:
            ctx.sampling = sampling


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [
    pytest.param(Sampling(1.2, top_p=0.95), id="top-p"), pytest.param(Sampling(1.0, repetition_penalty=1.8), id="penalty", marks=pytest.mark.long)])
def test_runs_of_the_real_loop_follow_the_target(sampling):
    """400 seeds through the whole decode loop."""
    model, draft = tiny.decoder(vocab_size=test_statistics.SIZE), tiny.decoder(7, vocab_size=test_statistics.SIZE)
    to, proposer = tiny.DecoderTarget(model, None, ()), DraftTree(draft, None, (2, 2))
    tokens = [tiny.decode(to, proposer, test_statistics.PROMPT, sampling=sampling, seed=seed, max_new_tokens=4, record=False)[0].new_tokens
              for seed in range(400)]
    p = test_statistics.dists(model, sampling)
    assert test_statistics.p_value(torch.tensor([t[:2] for t in tokens]), p) > 0.001


def test_the_proof_finds_a_wrong_q_of_siblings(monkeypatch):
    """The negative control: the second sibling, drawn without replacement, is given the q of the first."""
    class Careless(DraftTree):
        def propose(self, ctx, k):
            draft = super().propose(ctx, k)
            draft.q[1] = draft.q[0]
            return draft

    to = tiny.DecoderTarget(tiny.decoder(vocab_size=5), None, ())
    with pytest.raises(AssertionError):
        proofs.exact_distribution(lambda to: Careless(tiny.decoder(7, vocab_size=5), None, (3,)), to, [1, 0], Sampling(3.0), 1, monkeypatch)


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(1.2, 6, 0.9, 0.05, 1.5)], ids=["T=1", "all"])
def test_siblings_differ_and_rows_of_q_are_what_they_were_drawn_from(sampling):
    to = tiny.target()
    draft = tiny.other_model(to.model).model
    for seed in range(5):
        _, rounds = decode(to, DraftTree(draft, None, (4, 2)), sampling=sampling, seed=seed, max_new_tokens=12)
        tokens = list(REPEATING)
        for r in rounds:
            for i, d in enumerate(r.drafted):
                path, up = [], d.parent
                while up >= 0:
                    path, up = [r.drafted[up].id, *path], r.drafted[up].parent
                before = [x.id for x in r.drafted[:i] if x.parent == d.parent]
                assert d.id not in before
                dist = tiny.dist_after(draft, [*tokens, *path], sampling)
                left = 1 - float(dist[before].sum())
                want = float(dist[d.id]) / left if left > 1e-12 else 1.0
                assert d.q == pytest.approx(want, rel=1e-9)
            tokens += [e.id for e in r.emitted]


def test_a_tree_accepts_more_than_a_chain_of_its_depth():
    to, accepted = tiny.target(), {}
    draft = tiny.near_model(to.model, 0.3).model
    for name, proposer in (("chain", DraftModel(draft)), ("tree", DraftTree(draft, None, (3, 2, 1)))):
        runs = [decode(to, proposer, [s, *REPEATING], sampling=Sampling(1.0), seed=s, draft_len=3, max_new_tokens=30)[1] for s in range(8)]
        accepted[name] = sum(d.verdict == "accepted" for rounds in runs for r in rounds for d in r.drafted) / sum(len(rounds) for rounds in runs)
    assert accepted["tree"] > 1.15 * accepted["chain"]


@pytest.mark.usefixtures("runner")
def test_a_draft_with_a_shorter_context_stops_drafting_there():
    to = tiny.target()
    draft = DraftTree(tiny.decoder(0, max_positions=20), None, (2, 2))
    _, rounds = decode(to, draft, max_new_tokens=20)
    assert tiny.emitted(rounds) == tiny.greedy(to.model, REPEATING, 20)
    assert any(r.drafted for r in rounds) and not rounds[-2].drafted


def walk(p, q, drafted, shape, u, u_next):
    """The reference for verify.tree with sampled siblings, in plain Python: (accepted path, distribution of the next token)."""
    node, path, dist = -1, [], None
    while True:
        dist = p[node + 1]
        for i in (i for i in range(len(drafted)) if int(shape.parents[i]) == node):
            if float(u[i]) * float(q[i, drafted[i]]) < float(dist[drafted[i]]):
                node = i
                path.append(i)
                break
            dist = verify.residual_distribution(dist, q[i])
        else:
            return path, dist


@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 2, 2), (3, 2, 1)], ids=str)
def test_verification_agrees_with_a_plain_walk(shape):
    rng = torch.Generator().manual_seed(sum(shape))
    parents = torch.tensor(StaticTree.full(shape).parents)
    n, found = len(parents), set()
    for _ in range(40):
        p, q = ((torch.rand(rows, 6, generator=rng, dtype=F64) ** 3).softmax(-1) for rows in (n + 1, n))
        drafted, u = probs.draw(q, torch.rand(n, generator=rng, dtype=F64)), torch.rand(n, generator=rng, dtype=F64)
        tree = Tree.of(parents, len(shape))
        v = verify.tree(p, q, drafted, tree, u, torch.tensor(0.3, dtype=F64))
        path, dist = walk(p, q, drafted, tree, u, 0.3)
        assert v.accepted.nonzero().flatten().tolist() == path
        torch.testing.assert_close(v.residual, dist, rtol=0, atol=1e-12)
        found.add(len(path))
    assert len(found) > 1


@pytest.mark.parametrize(("tree", "said"), [*((x, "3x2x1") for x in ("3x0", "x", "²", "9" * 5000)), ("auto", "candidates"), ("9x9x9", "nodes")])
def test_what_is_no_tree_is_refused(tree, said):
    with pytest.raises(UserError, match=said):
        draft.build(None, tree=tree)


@pytest.mark.parametrize("shape", [(2, 1), (1, 1)])
def test_block_verification_refuses_a_tree(shape):
    to = tiny.target()
    with pytest.raises(UserError, match="block checks chains"):
        Decoding(to, DraftTree(tiny.decoder(7), None, shape), REPEATING, Options(verify="block"))
    assert list(Decoding(to, DraftModel(tiny.decoder(7)), REPEATING, Options(verify="block")))
