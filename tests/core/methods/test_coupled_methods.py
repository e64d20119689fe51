"""One seed, one text: with `--verify coupled` every method writes exactly the sampled text that plain decoding writes with the same seed."""
from __future__ import annotations

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.early_exit import EarlyExit
from core.models.target import DecoderTarget
from core.sampling import probs, race
from core.sampling.probs import Sampling
from core.sampling.race import Noise
from tests.core import tiny
from tests.core.methods import proofs
from tests.core.methods.proofs import REPEATING, facts
from tests.core.methods.test_other_vocab import DRAFTS as OTHER_VOCAB
from tests.core.methods.test_statistics_methods import METHODS, PROMPT, SETTINGS, SIZE, target
from tests.core.sampling.test_statistics import p_value

ALL_AT_ONCE = Sampling(1.4, 6, 0.95, 0.03, 1.6)
SAMPLINGS = {**SETTINGS, "all": ALL_AT_ONCE}


def reduced(to: DecoderTarget):
    return tiny.decoder(7, num_layers=1, vocab_size=SIZE, head_size=5)


KNOWN = torch.tensor([0, 1, 3, 5, 6])
MADE = {**METHODS, "scripted": lambda to: tiny.perfect(to.model), "wrong": lambda to: tiny.always_wrong(to.model),
        "uniform": lambda to: tiny.Uniform(),
        "draft 3x2x1": lambda to: DraftTree(tiny.decoder(7, num_layers=1, vocab_size=SIZE), None, (3, 2, 1)),
        "reduced": lambda to: DraftModel(reduced(to), KNOWN), "reduced 2x2": lambda to: DraftTree(reduced(to), KNOWN, (2, 2)),
        "smaller": lambda to: DraftModel(tiny.decoder(7, num_layers=1, vocab_size=5)),
        "confident": lambda to: EarlyExit(to, "2", confidence=0.4)}


@pytest.fixture(scope="module")
def to() -> DecoderTarget:
    return target()


def decode(to: DecoderTarget, proposer: Proposer, prompt: list[int] = PROMPT, **options) -> tuple[Decoding, list]:
    return proofs.decode(to, proposer, prompt, **{"verify": "coupled", "max_new_tokens": 14} | options)


def race_alone(to: DecoderTarget, prompt: list[int], sampling: Sampling, seed: int, n: int) -> list[int]:
    """n tokens, each the winner of the race under the distribution that a forward without cache gives."""
    tokens, noise = list(prompt), Noise(seed, to.vocab_size, to.device).rows(0, n)
    for row in noise:
        tokens.append(int(race.winner(tiny.dist_after(to.model, tokens, sampling), row)))
    return tokens[len(prompt):]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_plain_decoding_is_the_race_alone(to, sampling):
    for seed in (0, 5, 2 ** 63 - 1):
        _, rounds = decode(to, Proposer(), sampling=sampling, seed=seed)
        assert tiny.emitted(rounds) == race_alone(to, PROMPT, sampling, seed, 14)


@pytest.fixture(scope="module")
def plain(to):
    return {(name, seed): decode(to, Proposer(), sampling=sampling, seed=seed)[0].new_tokens
            for name, sampling in SAMPLINGS.items() for seed in range(4)}


@pytest.mark.parametrize("options", SAMPLINGS)
@pytest.mark.parametrize("name", MADE)
def test_every_method_writes_the_text_of_plain_decoding(to, plain, name, options):
    proposer, accepted, drafted = MADE[name](to), 0, 0
    for seed in range(4):
        proposer.forget()
        run, rounds = decode(to, proposer, sampling=SAMPLINGS[options], seed=seed, draft_len=1 + seed)
        assert run.new_tokens == plain[options, seed]
        for d in (d for r in rounds for d in r.drafted):
            assert d.u is None and d.threshold in (0, 1)
            assert d.verdict == "not_reached" or (d.threshold == 1) == (d.verdict == "accepted")
            assert d.threshold == 0 or d.p > 0
            accepted, drafted = accepted + (d.verdict == "accepted"), drafted + 1
    assert drafted > 10 and (accepted > 0 or name == "wrong")
    assert len({tuple(plain[options, seed]) for seed in range(4)}) > 1


@pytest.mark.parametrize("name", ["draft", "draft 2x2", "medusa auto", "eagle", "eagle auto", "eagle static", "early-exit", "lookup"])
def test_captured_and_ahead_too(name):
    to = target()
    want = decode(to, Proposer(), sampling=ALL_AT_ONCE, seed=3, max_new_tokens=30)[0].new_tokens
    run, _ = decode(to, MADE[name](to), sampling=ALL_AT_ONCE, seed=3, max_new_tokens=30, graphs=True, ahead=True)
    assert run.new_tokens == want and to.graphs.captured


@pytest.mark.parametrize("name", OTHER_VOCAB)
def test_a_draft_with_another_tokenizer(name):
    to = tiny.target()
    for seed in range(3):
        want = decode(to, Proposer(), REPEATING, sampling=Sampling(1.0), seed=seed)[0].new_tokens
        run, rounds = decode(to, OTHER_VOCAB[name](to), REPEATING, sampling=Sampling(1.0), seed=seed)
        assert run.new_tokens == want
        rejected = [d for r in rounds for d in r.drafted if d.verdict != "accepted"]
        assert any(r.drafted for r in rounds) and (not rejected or name != "perfect")


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize("shape", ["chain", (1, 1, 1), (2, 1, 2)])
def test_a_perfect_draft_is_accepted_in_every_round(to, sampling, shape):
    """Reading another row of the noise than the target would show here."""
    for seed in range(3):
        _, rounds = decode(to, DraftModel(to.model) if shape == "chain" else DraftTree(to.model, None, shape), sampling=sampling, seed=seed)
        for r in (r for r in rounds if r.drafted):
            assert "recovered" not in [e.kind for e in r.emitted] and len(r.emitted) > 1


def test_the_draft_shares_the_noise(to):
    """The negative control: even the target itself, with noise of its own, drafts other tokens; the text stays."""
    class Apart(DraftModel):
        def propose(self, ctx, k):
            shared, ctx.race = ctx.race, Noise(99, SIZE, to.device)
            draft = super().propose(ctx, k)
            ctx.race = shared
            return draft

    shares = []
    for kind in (DraftModel, Apart):
        results = []
        for seed in range(6):
            run, rounds = decode(to, kind(to.model), sampling=Sampling(1.0), seed=seed)
            assert run.new_tokens == race_alone(to, PROMPT, Sampling(1.0), seed, 14)
            results += [d.verdict for r in rounds for d in r.drafted]
        shares.append(results.count("accepted") / len(results))
    assert shares[0] == 1 and shares[1] < 0.5


def drafted(to: DecoderTarget, name: str, noise: Noise, sampling: Sampling, k: int = 2):
    """The method's draft after PROMPT, and its proposer."""
    ctx, proposer = proofs.context(to, PROMPT, sampling), MADE[name](to)
    ctx.race, ctx.first = noise, len(PROMPT)
    proposer.begin(ctx)
    with torch.inference_mode():
        _, ctx.hidden_states = proposer.target_pass(to)(ctx.cache, torch.tensor(PROMPT[:-1]), 1)
        proposer.observe(ctx, [])
        return proposer.propose(ctx, k), proposer


def first_of(dist: torch.Tensor, noise: torch.Tensor, n: int) -> list[int]:
    """The first n of the race; fewer where fewer have any probability."""
    return (dist / noise).topk(min(n, int((dist > 0).sum()))).indices.tolist()


@pytest.mark.parametrize("sampling", [Sampling(0.9), ALL_AT_ONCE], ids=["T=0.9", "all"])
def test_trees_of_heads_rank_by_the_race(to, sampling):
    """EAGLE's children of the root are the first of the race under the q of its chain; Medusa's nodes are the first of each head's race."""
    for seed in range(20):
        noise = Noise(seed, SIZE, to.device)
        rows = noise.rows(0, 2)
        chain, _ = drafted(to, "eagle", noise, sampling)
        assert chain.tokens.tolist() == [first_of(chain.q[i], rows[i], 1)[0] for i in range(2)]
        for name in ("eagle auto", "eagle static"):
            draft, _ = drafted(to, name, noise, sampling)
            n = int((draft.parents < 0).sum())
            likely = first_of(chain.q[0], rows[0], n)           # behind them come tokens without probability
            assert draft.tokens[draft.parents < 0].tolist()[:len(likely)] == likely
            if sampling.repetition_penalty == 1:                # else a chain also penalises its own tokens
                assert int(draft.tokens[draft.parents == 0][0]) == int(chain.tokens[1])
        draft, proposer = drafted(to, "medusa 3x2", noise, sampling)
        with torch.inference_mode():
            seen = torch.zeros(SIZE, dtype=torch.bool).index_fill_(0, torch.tensor(PROMPT), True)
            raw = proposer.heads(proposer.hidden)
            dists = probs.probabilities(probs.scores(raw, sampling, seen), sampling)
        for row, nodes in ((0, draft.tokens[:3]), *((1, pair) for pair in draft.tokens[3:].view(3, 2))):
            likely = first_of(dists[row], rows[row], len(nodes))
            assert nodes.tolist()[:len(likely)] == likely


@pytest.mark.parametrize("name", ["draft", "early-exit", "eagle auto"])
def test_the_caches_are_right_after_each_round(to, name):
    run = Decoding(to, MADE[name](to), PROMPT, Options(24, 4, Sampling(1.0), 1, verify="coupled"))
    for r in run:
        proofs.check_round(r)
        if run.stop is None:
            assert run.ctx.cache.length == len(run.tokens) - 1
            proofs.agree(to.model, run.ctx.cache, run.tokens)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", ["draft", "draft 2x2", "medusa auto"])
def test_greedy_is_greedy(to, name):
    first, chain = (facts(decode(to, MADE[name](to), verify=how)[1]) for how in ("coupled", "chain"))
    assert first == chain


@pytest.mark.parametrize("name", ["plain", "draft", "eagle auto"])
def test_a_branch_that_repeats_the_text_goes_on_as_the_text_did(to, name):
    made = {**MADE, "plain": lambda to: Proposer()}[name]
    whole = decode(to, made(to), sampling=Sampling(1.0), seed=6)[0].new_tokens
    for n in (1, 5):
        _, rounds = decode(to, made(to), PROMPT + whole[:n], sampling=Sampling(1.0), seed=6, max_new_tokens=14 - n, first_position=n)
        assert tiny.emitted(rounds) == whole[n:]
    anew = decode(to, made(to), PROMPT + whole[:5], sampling=Sampling(1.0), seed=6, max_new_tokens=9)[0].new_tokens
    assert anew != whole[5:]


def test_end_tokens_and_stop_at_the_limit_cut_the_same_text(to):
    whole = race_alone(to, PROMPT, Sampling(1.0), 2, 14)
    ends = DecoderTarget(to.model, None, (whole[6],))
    for name in ("draft", "eagle auto", "lookup"):
        run, _ = decode(ends, MADE[name](ends), sampling=Sampling(1.0), seed=2)
        assert run.new_tokens == whole[:whole.index(whole[6]) + 1] and run.stop == "eos"
        for n in (1, 2, 5):
            assert decode(to, MADE[name](to), sampling=Sampling(1.0), seed=2, max_new_tokens=n)[0].new_tokens == whole[:n]


def test_pairs_of_tokens_over_many_seeds_follow_the_target(to, monkeypatch):
    """Successive tokens of 400 runs; with one row of noise for all positions the same test fails."""
    sampling = Sampling(1.0)
    p = tiny.dist_after(to.model, PROMPT, sampling), torch.stack([tiny.dist_after(to.model, [*PROMPT, x], sampling) for x in range(SIZE)])

    def pairs() -> torch.Tensor:
        proposer = DraftModel(tiny.decoder(7, num_layers=1, vocab_size=SIZE))
        return torch.tensor([tiny.decode(to, proposer, PROMPT, sampling=sampling, seed=seed, max_new_tokens=3, verify="coupled", record=False)[0]
                             .new_tokens[:2] for seed in range(400)])
    assert p_value(pairs(), p) > 0.001
    real = Noise._made
    monkeypatch.setattr(Noise, "_made", lambda self, positions: real(self, range(1)).expand(len(positions), -1))
    assert p_value(pairs(), p) < 1e-6
