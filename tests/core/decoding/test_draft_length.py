"""Draft lengths: constant, transformers' heuristic, and `auto`, which takes the best expected rate and starts anew in each run."""
from __future__ import annotations

import math

import pytest

from core.decoding import draft_length
from core.decoding.draft_length import FADE, GAIN, LONGEST, PRIOR, PROBE, Auto, Heuristic, Shape, make, pass_seconds
from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.methods.combined import Combined
from core.methods.draft_model import DraftModel
from core.methods.prompt_lookup import PromptLookup
from core.methods.static_tree import StaticTree
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import PROMPT, emitted

FLAT = {"verify_s": {"1": 1.0, "2": 1.0, "9": 1.0}, "draft_step_s": 0.05}
KNEE = {"verify_s": {"1": 1.0, "2": 1.1, "5": 1.2, "9": 2.5}, "draft_step_s": 0.1}
STEEP = {"verify_s": {"1": 1.0, "2": 2.0}, "draft_step_s": 0.5}


def test_constant_and_bad_lengths():
    assert [make(3, FLAT).next() for _ in range(3)] == [Shape(3, 3)] * 3
    for bad in (-1, 1.5, "often", None):
        with pytest.raises(UserError, match="--draft-len"):
            make(bad, FLAT)


def test_the_heuristic_of_transformers():
    rule = make("heuristic", FLAT)
    seen = []
    for drafted, accepted in ((5, 5), (7, 7), (9, 3), (8, 0), (0, 0), (7, 7)):
        seen.append(rule.next().levels)
        rule.observe(drafted, accepted)
    assert seen == [5, 7, 9, 8, 7, 7] and rule.next() == Shape(9, 9)
    for _ in range(40):
        rule.observe(9, 0)
    assert rule.next().levels == 1
    for _ in range(40):
        rule.observe(3, 3)
    assert rule.next().levels == 20


def by_hand(costs: dict, acceptance: list[list[float]], k: int) -> float:
    """Tokens per second of a chain of k."""
    tokens, alive = 1.0, 1.0
    for i in range(k):
        alive *= acceptance[min(i, len(acceptance) - 1)][0]
        tokens += alive
    return tokens / (k * costs["draft_step_s"] + pass_seconds(costs["verify_s"], k + 1))


@pytest.mark.parametrize("acceptance", [[[0.9]], [[0.5], [0.7], [0.8]], [[0.05]]], ids=["good", "rising", "useless"])
@pytest.mark.parametrize("costs", [FLAT, STEEP, KNEE], ids=["flat", "steep", "knee"])
def test_auto_takes_the_shape_with_the_most_tokens_per_second(costs, acceptance):
    auto = Auto(costs | {"acceptance": acceptance})
    rates = [by_hand(costs, acceptance, k) for k in range(LONGEST + 1)]
    assert [e.rate for e in auto.at_start] == pytest.approx(rates)
    best = rates.index(max(rates))
    assert auto.next() == Shape(best, best) if rates[best] >= GAIN * rates[0] else auto.next().levels == 0


def test_the_rounds_fixed_part_counts():
    costs = KNEE | {"acceptance": [[0.4]], "draft_step_s": 0.05}
    assert Auto(costs).now.levels and not Auto(costs | {"other_s": {"1": 0.0, "5": 3.0}}).now.levels


def test_a_tree_is_taken_where_it_gains_and_can_be_drafted():
    wide = {"verify_s": {"1": 1.0, "2": 1.01, "11": 1.1}, "draft_step_s": 0.2, "acceptance": [[0.4, 0.25, 0.15]]}
    shape = Auto(wide, trees=True).next()
    assert shape.nodes > shape.levels > 1 and Auto(wide).next().nodes == Auto(wide).next().levels
    by_shape = {e.shape: e for e in Auto(wide, trees=True).at_start}
    tree = StaticTree.best([[0.4, 0.25, 0.15]] * shape.levels, shape.nodes)
    assert by_shape[shape].tokens == pytest.approx(1 + sum(math.prod([0.4, 0.25, 0.15][r] for r in path) for path in draft_length._paths(tree)))
    assert not any(e.shape.nodes > e.shape.levels for e in Auto({**wide, "acceptance": [[0.4]]}, trees=True).at_start)      # no ranks known


def test_auto_follows_what_is_accepted():
    good, bad = Auto(FLAT), Auto(KNEE)
    for _ in range(30):
        shape = good.next()
        good.observe(shape.levels, shape.levels)
        bad.observe(bad.next().levels, 0)
    assert good.next() == Shape(LONGEST, LONGEST) and bad.now == Shape(0, 0)
    for _ in range(200):
        good.observe(good.next().levels, 0)
    assert good.now.levels <= 1


def test_a_useless_draft_is_tried_seldom_and_taken_up_when_it_gets_good():
    auto = Auto(FLAT | {"acceptance": [[0.01]]})
    drafted = []
    for _ in range(1000):
        k = auto.next().levels
        drafted.append(k)
        auto.observe(k, 0)
    assert 0 < sum(drafted) <= 1000 * 0.03 and max(drafted) == 1
    assert drafted.index(1) == PROBE - 1                                    # and then at intervals that double
    for _ in range(600):
        k = auto.next().levels
        if k > 1:
            break
        auto.observe(k, k)
    assert k > 1


def test_a_pass_that_took_longer_than_a_larger_one_was_disturbed():
    assert draft_length.rising({"1": 3.0, "2": 1.0, "4": 2.0, "11": 1.5}) == {"1": 1.0, "2": 1.0, "4": 1.5, "11": 1.5}
    assert Auto(FLAT | {"verify_s": {"1": 1.0, "2": 9.0, "3": 1.1, "11": 9.0}, "acceptance": [[0.9]]}).now.levels


def test_noise_changes_nothing():
    near = {"verify_s": {"1": 1.0, "2": 1.39, "3": 1.99}, "draft_step_s": 0.0, "acceptance": [[0.4]]}
    assert Auto(near).now == Shape(0, 0)                                    # 1.4 / 1.39 is less than GAIN
    auto = Auto(near | {"verify_s": {"1": 1.0, "2": 1.2, "3": 1.33}})
    assert auto.now.levels == 2 and by_hand(auto.costs, [[0.4]], 2) > by_hand(auto.costs, [[0.4]], 1)
    auto.now = Shape(1, 1)
    assert auto._best() == Shape(1, 1)                                      # the better one is better by less than STAY


def test_levels_after_the_first_rejection_are_not_counted():
    auto = Auto(FLAT)
    auto.observe(5, 2)
    assert auto.accepted[:4] == [1, 1, 0, 0] and auto.tested[:4] == [1, 1, 1, 0] and auto.foreseen[:4] == pytest.approx([PRIOR] * 3 + [0])
    auto.observe(0, 0)                              # a round without a draft
    assert auto.accepted[:3] == [1, 1, 0]
    auto.observe(1, 0)
    assert auto.accepted[0] == pytest.approx(FADE) and auto.foreseen[0] == pytest.approx(FADE * PRIOR + PRIOR)


def test_a_pass_is_interpolated_between_the_measured_lengths():
    costs = {"verify_s": {"1": 1.0, "5": 3.0, "9": 4.0}}
    assert [pass_seconds(costs["verify_s"], k) for k in (1, 3, 5, 7, 9, 11)] == [1.0, 2.0, 3.0, 3.5, 4.0, 4.5]
    assert pass_seconds({"1": 2.0, "2": 1.0}, 5) == 1.0           # measurement noise: extrapolation never goes below what was measured


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "T=1"])
@pytest.mark.parametrize("kind", ["auto", "heuristic", 3])
def test_the_same_seed_gives_the_same_lengths(kind, sampling):
    """Acceptance seen in one run does not influence the next."""
    to = tiny.target()
    draft = tiny.near_model(to.model, 0.3)
    runs = []
    for _ in range(2):
        run = Decoding(to, draft, PROMPT, Options(30, kind, sampling, 3), costs=FLAT)
        rounds = list(run)
        check.run(run, rounds, len(PROMPT))
        runs.append([(r.draft_len, [d.id for d in r.drafted], [e.id for e in r.emitted]) for r in rounds])
    assert runs[0] == runs[1]
    if sampling.greedy:
        assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 30)


def test_a_part_that_does_not_pay_leaves_the_round_to_the_other():
    """A lookup whose finds are never accepted must not keep the draft model from drafting."""
    to = tiny.target()
    acceptance = {"": [[0.9]], "lookup": [[0.01]]}
    prompt, both = [1, 2, 1, 2, 1], Combined(PromptLookup(1, 1), DraftModel(to.model))
    run = Decoding(to, both, prompt, Options(30, "auto"), costs=FLAT | {"acceptance": acceptance})
    rounds = list(run)
    assert sum(len(r.drafted) for r in rounds) > 15 and run.new_tokens == tiny.greedy(to.model, prompt, 30)
    assert all(d.q is not None for r in rounds for d in r.drafted)


def test_the_trace_says_what_was_chosen():
    to = tiny.target()
    run = Decoding(to, DraftModel(to.model), PROMPT, Options(40, "auto"), costs=FLAT)
    chosen, rule = [], draft_length.make("auto", FLAT)
    for r in run:
        if r.index:
            left = 40 - r.start
            assert r.draft_len == min(rule.next().levels, left - 1)
            rule.observe(len(r.drafted), sum(d.verdict == "accepted" for d in r.drafted))
            chosen.append(r.draft_len)
    assert len(set(chosen)) > 1 and max(chosen) > 4             # the drafts of a perfect draft model get longer


def test_heuristic_is_a_constant_that_moves():
    assert isinstance(make("heuristic", FLAT), Heuristic) and make(0, FLAT).next() == Shape(0, 0)
