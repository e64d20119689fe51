"""Structured output is lossless against constrained plain decoding, for every method, verifier and sampling option."""
from __future__ import annotations

import math

import pytest
import torch

from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.grammar.constraint import Constraint
from core.grammar.matcher import Cursor, Grammar
from core.methods.base import Draft, Proposer
from core.methods.combined import Combined
from core.methods.draft_model import DraftModel
from core.methods.draft_tree import DraftTree
from core.methods.early_exit import EarlyExit
from core.methods.forced import Forced
from core.methods.prompt_lookup import PromptLookup
from core.sampling import probs
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.grammar import texts
from tests.core.grammar.texts import EOS
from tests.core.methods import proofs
from tests.core.methods.proofs import OPTIONS
from tests.core.methods.test_statistics_methods import BLOCK, METHODS

PATTERN = "(abcd(a|b|cd){1,4}dab){2,3}c"
LOOSE = Constraint.of("regex", PATTERN)
PROMPT = [5, 6, 1, 4, 5, 6, 2, 4, 5, 7]
NEAR = {"perfect": lambda to: DraftModel(to.model), "wrong": lambda to: tiny.always_wrong(to.model), "uniform": lambda to: tiny.Uniform()}
ALL = METHODS | NEAR


@pytest.fixture(scope="module")
def words():
    return texts.text()


@pytest.fixture(scope="module")
def to():
    return texts.target()


@pytest.fixture(scope="module")
def want(to, words):
    """The greedy texts of plain constrained decoding, by number of tokens."""
    return {n: texts.greedy(to, LOOSE, words, PROMPT, n) for n in (1, 2, 6, 40)}


def decode(to, proposer, words, sampling=None, **options):
    options = {"max_new_tokens": 40, "draft_len": 3, "grammar": LOOSE} | options
    run = Decoding(to, proposer, PROMPT, Options(sampling=sampling or Sampling(), **options), words)
    rounds = list(run)
    for r in rounds if options.get("verify", "chain") == "chain" else []:        # other verifiers have other acceptance probabilities
        proofs.check_round(r)
    return run, rounds


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("name", ["plain", *ALL])
def test_greedy_output_is_that_of_constrained_plain_decoding(name, to, words, want):
    proposer = Proposer() if name == "plain" else ALL[name](to)
    for n, output in want.items():
        run, rounds = decode(to, proposer, words, max_new_tokens=n)
        assert run.new_tokens == output and run.stop == ("eos" if output[-1] == EOS else "length")
        if name == "plain":
            assert all(len(r.emitted) == 1 for r in rounds)
    assert texts.matches(PATTERN, want[40])
    drafted = [d for r in rounds for d in r.drafted]
    assert all((d.p, d.q, d.verdict) == (1, 1, "accepted") for d in drafted if d.forced and d.verdict != "not_reached")
    assert name == "plain" or any(d.forced for d in drafted)


@pytest.mark.parametrize("name, verify", [*((n, "block") for n in BLOCK), *((n, "coupled") for n in ALL if n != "uniform")])
def test_other_verifiers_greedily(name, verify, to, words, want):
    assert decode(to, ALL[name](to), words, verify=verify)[0].new_tokens == want[40]


@pytest.mark.parametrize("name", [n for n in METHODS if n != "suffix"])
def test_coupled_sampling_gives_plains_text(name, to, words):
    for seed in range(3):
        options = {"sampling": Sampling(1.2), "verify": "coupled", "seed": seed}
        plain = decode(to, Proposer(), words, **options)[0].new_tokens
        assert decode(to, ALL[name](to), words, **options)[0].new_tokens == plain
        assert texts.matches(PATTERN, plain) or len(plain) == 40


@pytest.mark.parametrize("name, verify", [*((n, "chain") for n in ALL), ("draft", "block"), ("draft 2x2", "typical"), ("medusa", "typical")])
def test_sampled_output_keeps_to_the_grammar(name, verify, to, words):
    proposer = ALL[name](to)
    for seed, sampling in enumerate(OPTIONS.values()):
        run, _ = decode(to, proposer, words, sampling, seed=seed, verify=verify, max_new_tokens=50)
        fit = Cursor(Grammar(LOOSE, words, 8, (EOS,))).take(run.new_tokens)
        assert fit == len(run.new_tokens) and (run.stop == "length" or texts.matches(PATTERN, run.new_tokens))


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), OPTIONS["penalty"]], ids=["greedy", "T=1", "penalty"])
@pytest.mark.parametrize("name", ["perfect", "early", "tree", "combined"])
def test_a_perfect_draft_is_accepted_and_caches_agree(name, sampling, to, words):
    """Also behind forced tokens, which the draft reads in one pass, and where a rejected branch's mask was rolled back."""
    make = {"perfect": lambda to: DraftModel(to.model), "early": lambda to: EarlyExit(to, "2"), "tree": lambda to: DraftTree(to.model, None, (2, 2)),
            "combined": lambda to: Combined(PromptLookup(3, 3), DraftModel(to.model))}[name]
    cache = {"perfect": lambda p: (p.model, p.cache), "early": None, "tree": lambda p: (p.model, p.cache),
             "combined": lambda p: (p.second.model, p.second.cache)}[name]
    proofs.caches_agree(make, cache, sampling, to, words, PROMPT, grammar=LOOSE)
    if name == "perfect":
        for seed in range(4):
            _, rounds = decode(to, make(to), words, sampling, seed=seed)
            assert all(d.verdict == "accepted" for r in rounds for d in r.drafted)
            free = [d for r in rounds for d in r.drafted if not d.forced]
            assert free and any(d.forced and d.parent >= 0 and not r.drafted[d.parent].forced for r in rounds for d in r.drafted)


def test_a_forced_run_takes_one_pass(words, to):
    text = "abcd" * 6
    run, rounds = decode(to, PromptLookup(), words, grammar=Constraint.of("choice", [text]), draft_len=0)
    assert texts.written(run.new_tokens) == text and run.stop == "eos"
    assert [len(r.emitted) for r in rounds] == [1, len(run.new_tokens) - 1] and all(e.forced for r in rounds for e in r.emitted)
    plain = decode(to, Proposer(), words, grammar=Constraint.of("choice", [text]))[0]
    assert plain.new_tokens == run.new_tokens


@pytest.mark.parametrize("sampling", [Sampling(1.1), OPTIONS["top-p"], OPTIONS["penalty"]], ids=["T", "top-p", "penalty"])
@pytest.mark.parametrize("pattern, output", [("(a|b|cd)+d", []), ("ab(cd|da)+b", []), ("ab(cd|d)*(a|c)", [5])])
@pytest.mark.parametrize("name", ["draft", "siblings", "lookup", "lookup+draft", "early-exit", "medusa", "medusa 3x2", "eagle", "eagle static"])
def test_the_distribution_is_the_constrained_targets_by_enumeration(name, pattern, output, sampling, to, words, monkeypatch):
    """Every draft and every result of its verification; four positions, EOS among them."""
    constraint, most = Constraint.of("regex", pattern), 3
    tokens, memory, got = [*PROMPT, *output], {}, {}

    def p(*more: int):
        if more not in memory:
            memory[more] = texts.dist(to, constraint, words, PROMPT, [*output, *more], sampling)
        return memory[more]

    def spread(whole: tuple[int, ...], chance: float) -> None:
        if len(whole) > most or EOS in whole:
            end = whole[:whole.index(EOS) + 1] if EOS in whole else whole
            got[end] = got.get(end, 0.0) + chance
            return
        for x, share in enumerate(p(*whole).tolist()):
            if share:
                spread((*whole, x), chance * share)

    proposer = METHODS.get(name, lambda to: DraftTree(tiny.decoder(7, num_layers=1, vocab_size=8), None, (2,)))
    script, real, drafts = proofs.Script(), probs.draw, 0
    while True:
        draft = _draft(Forced(proposer(to)), to, constraint, words, tokens, output, sampling, most, script, real, monkeypatch)
        drafts += 1
        for emitted, chance in proofs.outcomes(draft, p, 8):
            spread(emitted, script.chance * chance)
        if not script.next():
            break

    def check(whole: tuple[int, ...], chance: float) -> None:
        if len(whole) > most or whole[-1:] == (EOS,):
            assert got.pop(whole, 0.0) == pytest.approx(chance, abs=1e-12)
            return
        for x, share in enumerate(p(*whole).tolist()):
            if share:
                check((*whole, x), chance * share)

    check((), 1.0)
    assert all(left == pytest.approx(0, abs=1e-12) for left in got.values()) and drafts >= 1


def _draft(proposer, to, constraint, words, tokens, output, sampling, most, script, real, monkeypatch) -> Draft | None:
    ctx = proofs.context(to, tokens, sampling)
    ctx.grammar, ctx.left = Cursor(Grammar(constraint, words, 8, (EOS,))), most
    assert ctx.grammar.take(output) == len(output)
    proposer.begin(ctx)
    with torch.inference_mode():
        _, ctx.hidden_states = proposer.target_pass(to)(ctx.cache, torch.tensor(tokens[:-1]), 1)
        proposer.observe(ctx, [])
        monkeypatch.setattr(probs, "draw", script)
        try:
            draft = proposer.propose(ctx, 2)
        finally:
            monkeypatch.setattr(probs, "draw", real)
    assert ctx.grammar.depth == 0 and ctx.tokens == tokens and ctx.left == most
    proposer.end()
    return draft


def test_masked_drafts_give_nothing_to_forbidden_ids(to, words):
    """q of what is masked while it drafts is over the allowed ids alone."""
    for name in ("draft", "early-exit", "eagle"):
        run = Decoding(to, METHODS[name](to), PROMPT, Options(40, 3, Sampling(1.3), 5, grammar=LOOSE), words)
        for r in run:
            for d in r.drafted:
                table = next(t for t in r.tables if t.after == d.parent)
                assert d.p > 0 and table.ids.index(d.id) >= 0 and (not d.forced or table.mask["allowed"] == 1)
                assert all(p > 0 or not q for p, q in zip(table.p, table.q))


def test_limits_stop_strings_and_branches(to, words, want):
    whole = want[40]
    for n in range(1, 12):
        for make in (PromptLookup, lambda: DraftModel(to.model), lambda: EarlyExit(to, "2")):
            assert decode(to, make(), words, max_new_tokens=n)[0].new_tokens == whole[:n]
    run, _ = decode(to, DraftModel(to.model), words, stop=("da",))      # inside a forced run
    assert run.stop == "stop_string" and run.output_text == texts.written(whole).split("da")[0]
    assert whole[:len(run.new_tokens)] == run.new_tokens
    for cut in range(1, len(whole)):
        run = Decoding(to, PromptLookup(), PROMPT + whole[:cut], Options(40 - cut, 3, grammar=LOOSE, first_position=cut), words)
        assert [e.id for r in run for e in r.emitted] == whole[cut:]
    with pytest.raises(UserError, match="does not fit"):
        Decoding(to, PromptLookup(), [*PROMPT, 4], Options(grammar=LOOSE, first_position=1), words)


def test_behind_the_end_nothing_is_constrained(to, words, want):
    for make in (Proposer, PromptLookup, lambda: DraftModel(to.model), lambda: EarlyExit(to, "2")):
        run, _ = decode(to, make(), words, ignore_eos=True, max_new_tokens=len(want[40]) + 8)
        free = tiny.greedy(to.model, PROMPT + want[40], 8)
        assert run.new_tokens == want[40] + free


def test_rates_and_tables(to, words):
    from core.measuring import stats
    run, rounds = decode(to, METHODS["draft"](to), words, Sampling(1.2), seed=3)
    t = stats.totals(rounds, "", run.stop, None)
    free = [d for r in rounds for d in r.drafted if not d.forced]
    assert t.drafted == len(free) and t.accepted == sum(d.verdict == "accepted" for d in free)
    assert t.forced == sum(e.forced for r in rounds for e in r.emitted) > 5
    output: list[int] = []
    for r in rounds:
        root = r.tables[0]
        logits = tiny.logits_after(to.model, PROMPT + output)
        keep = texts.allowed(LOOSE, words, output)
        gone = torch.softmax(logits / 1.2, -1).masked_fill(keep, 0)
        assert root.mask["allowed"] == int(keep.sum()) and math.isclose(root.mask["removed"], float(gone.sum()), abs_tol=1e-6)
        assert root.mask["ids"] == [i for i in gone.argsort(descending=True)[:3].tolist() if gone[i] >= 5e-4]
        assert root.mask["p"] == pytest.approx([float(gone[i]) for i in root.mask["ids"]], rel=1e-5)
        output += [e.id for e in r.emitted]


def test_a_reduced_head_without_an_allowed_id_drafts_nothing(to, words):
    """Its vocabulary lacks all that is allowed at most places."""
    few = DraftModel(tiny.decoder(7, num_layers=1, vocab_size=8), torch.tensor([4, 6]))
    few.model.head.weight.data = few.model.head.weight.data[:2]
    run, _ = decode(to, few, words)
    assert run.new_tokens == texts.greedy(to, LOOSE, words, PROMPT, 40)
