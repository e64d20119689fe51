"""Comparisons: the first difference of two outputs, the gap of the logits there, and the same work for all methods."""
from __future__ import annotations

from dataclasses import replace

import pytest

from core.checkpoints.load import Pair
from core.decoding.loop import Options
from core.errors import UserError
from core.methods import registry
from core.models.text import NoText
from core.runs import compare
from core.runs.compare import Work
from core.runs.runner import Request, Run
from core.sampling.probs import Sampling
from core.sampling.race import Noise
from tests.core import tiny


@pytest.fixture
def pair(tmp_path):
    to = tiny.target(eos=tuple(range(20)))
    out = Pair("tiny", "tiny", to, NoText(), {}, {"draft": tmp_path})
    out._loaded["draft"] = (tiny.decoder(7), None)
    return out


@pytest.mark.parametrize(("plain", "other", "at"), [([5, 6, 7], [5, 6, 7], None), ([5, 6, 7], [5, 9, 7], 1), ([5], [6], 0), ([5, 6], [5], 1)])
def test_the_first_difference(pair, plain, other, at):
    got = compare.first_difference(pair, [3, 1], plain, other)
    assert (got is None) == (at is None)
    if got and "top2_gap" in got:
        logits = tiny.logits_after(pair.target.model, [3, 1, *plain[:at]]).topk(2).values
        assert got["position"] == at and got["plain"]["id"] == plain[at] and got["other"]["id"] == other[at]
        assert got["top2_gap"] == pytest.approx(float(logits[0] - logits[1]), rel=1e-4)
    elif got:
        assert got == {"position": 1, "reason": "one output is longer"}


def test_a_tie_shows_a_gap_of_zero(pair):
    """Two equal rows of the head: a difference there is a tie and no fault."""
    head = pair.target.model.head.weight.data
    best = tiny.greedy(pair.target.model, [3, 1], 1)[0]
    head[(best + 1) % 20] = head[best]
    assert compare.first_difference(pair, [3, 1], [best], [(best + 1) % 20])["top2_gap"] == 0


def test_all_do_the_same_work_whatever_the_end_tokens(pair):
    request = Request(prompt_ids=(3, 1, 4), options=Options(9, 3, stop=("<5>",)))
    out = compare.compare(pair, request, ["draft"], repeats=2)
    assert out["plain"]["new_tokens"] == out["results"][0]["totals"]["new_tokens"] == 9
    assert out["results"][0]["identical"] is True and out["run"]["stop"] == []


@pytest.mark.parametrize(("new", "repeats"), [(0, 1), (62, 1), (9, 0)])
def test_work_that_does_not_fit(pair, new, repeats):
    with pytest.raises(UserError):
        compare.compare(pair, Request(prompt_ids=(3, 1, 4), options=Options(new)), ["draft"], repeats)


def test_the_baseline_emits_as_many_tokens_as_the_run(pair):
    run = Run(pair, Request(prompt_ids=(3, 1, 4), options=Options(9, 3, ignore_eos=True)), {"verify_s": {"1": 1.0, "2": 1.0}, "draft_step_s": None})
    rounds = list(run.rounds())
    plain = [*run.plain()][-1]
    assert len(plain) == 9 == run.totals.new_tokens and tiny.emitted(plain) == tiny.emitted(rounds)
    assert run.trace().totals is run.totals and run.trace().emitted_ids == tiny.emitted(rounds)


def test_a_run_that_is_closed_has_its_totals(pair):
    run = Run(pair, Request(prompt_ids=(3, 1, 4), options=Options(30, 3, ignore_eos=True)), {})
    rounds = run.rounds()
    next(rounds), next(rounds)
    rounds.close()
    assert run.totals.stop == "cancelled" and run.totals.rounds == 2 and run.decoding.ctx.cache is None


def test_coupled_runs_are_compared_with_the_sampled_text_of_plain_decoding(pair):
    request = Request(prompt_ids=(3, 1, 4), options=Options(9, 3, Sampling(1.0), 5, verify="coupled"))
    out = compare.compare(pair, request, ["draft"], repeats=1)
    assert out["run"]["verify"] == "coupled" and out["run"]["lossless"] is True
    assert out["results"][0]["identical"] is True and out["results"][0]["first_difference"] is None
    request = replace(request, options=replace(request.options, verify="chain"))
    assert compare.compare(pair, request, ["draft"], repeats=1)["results"][0]["identical"] is None


def test_a_difference_of_coupled_outputs_shows_the_gap_of_the_race(pair):
    options = Options(9, 3, Sampling(0.9, repetition_penalty=1.5), 5, verify="coupled")
    plain = Work(pair, Request(prompt_ids=(3, 1), options=options), [registry.get("plain")]).decode("plain").ids
    other = [*plain[:3], (plain[3] + 1) % 20]
    p = tiny.dist_after(pair.target.model, [3, 1, *plain[:3]], options.sampling)
    best = (p / Noise(5, 20, pair.target.device).rows(3, 1)[0]).log().topk(2)
    got = compare.first_difference(pair, [3, 1], plain[:4], other, options)
    assert int(best.indices[0]) == plain[3] and got["position"] == 3
    assert got["race_gap"] == pytest.approx(float(best.values[0] - best.values[1]), rel=1e-4)
    assert "race_gap" not in compare.first_difference(pair, [3, 1], plain[:4], other, replace(options, sampling=Sampling()))


@pytest.mark.parametrize("method", ["plain", "draft"])
def test_a_branch_of_a_coupled_run_that_repeats_its_text_goes_on_as_the_run_did(pair, method):
    request = Request(prompt_ids=(3, 1, 4), method=method, options=Options(12, 3, Sampling(1.0), 5, ignore_eos=True, verify="coupled"))
    whole, branch = Run(pair, request), None
    assert len(tiny.emitted(list(whole.rounds()))) == 12
    ids = whole.decoding.new_tokens
    for n in (1, 4):
        branch = Run(pair, replace(request, after_ids=tuple(ids[:n])))
        assert tiny.emitted(list(branch.rounds()))[:12 - n] == ids[n:]
