"""Draft lengths: constant, transformers' heuristic, and `auto`, which takes the best expected rate and starts anew in each run."""
from __future__ import annotations

import pytest

from core.decoding import draft_length
from core.decoding.draft_length import FADE, LONGEST, PRIOR, PRIOR_WEIGHT, Auto, Heuristic, make, pass_seconds
from core.decoding.loop import Decoding, Options
from core.errors import UserError
from core.methods.draft_model import DraftModel
from core.sampling.probs import Sampling
from tests.core import check, tiny
from tests.core.tiny import PROMPT, emitted

FLAT = {"verify_s": {"1": 1.0, "2": 1.0, "9": 1.0}, "draft_step_s": 0.05}
KNEE = {"verify_s": {"1": 1.0, "2": 1.1, "5": 1.2, "9": 2.5}, "draft_step_s": 0.1}
STEEP = {"verify_s": {"1": 1.0, "2": 2.0}, "draft_step_s": 0.5}


def test_constant_and_bad_lengths():
    assert [make(3, FLAT).next() for _ in range(3)] == [3, 3, 3]
    for bad in (-1, 1.5, "often", None):
        with pytest.raises(UserError, match="--draft-len"):
            make(bad, FLAT)


def test_the_heuristic_of_transformers():
    rule = make("heuristic", FLAT)
    seen = []
    for drafted, accepted in ((5, 5), (7, 7), (9, 3), (8, 0), (0, 0), (7, 7)):
        seen.append(rule.next())
        rule.observe(drafted, accepted)
    assert seen == [5, 7, 9, 8, 7, 7] and rule.next() == 9
    for _ in range(40):
        rule.observe(9, 0)
    assert rule.next() == 1
    for _ in range(40):
        rule.observe(3, 3)
    assert rule.next() == 20


def best_by_hand(auto: Auto, costs: dict) -> int:
    rates = []
    for k in range(1, LONGEST + 1):
        tokens, alive = 1.0, 1.0
        for i in range(k):
            alive *= auto.accepted_by_position[i] / auto.tested_by_position[i]
            tokens += alive
        rates.append(tokens / (k * costs["draft_step_s"] + pass_seconds(costs["verify_s"], k + 1)))
    return 1 + rates.index(max(rates))


@pytest.mark.parametrize("costs", [FLAT, STEEP, KNEE], ids=["flat", "steep", "knee"])
def test_auto_takes_the_length_with_the_most_tokens_per_second(costs):
    auto = Auto(costs)
    for drafted, accepted in ((3, 3), (5, 1), (4, 4), (2, 0), (9, 9), (10, 10), (1, 1)):
        assert auto.next() == best_by_hand(auto, costs)
        auto.observe(drafted, accepted)


def test_auto_follows_what_is_accepted():
    good, bad = Auto(FLAT), Auto(FLAT)
    for _ in range(30):
        good.observe(good.next(), good.next())
        bad.observe(bad.next(), 0)
    assert good.next() == LONGEST and bad.next() == 1
    for _ in range(60):
        good.observe(good.next(), 0)
    assert good.next() == 1


def test_positions_after_the_first_rejection_are_not_counted():
    auto = Auto(FLAT)
    auto.observe(5, 2)
    start = PRIOR * PRIOR_WEIGHT
    assert auto.tested_by_position[:5] == pytest.approx([FADE * PRIOR_WEIGHT + 1] * 3 + [PRIOR_WEIGHT] * 2)
    assert auto.accepted_by_position[:5] == pytest.approx([FADE * start + 1] * 2 + [FADE * start] + [start] * 2)
    auto.observe(0, 0)                              # a plain round
    assert auto.tested_by_position[0] == pytest.approx(FADE * PRIOR_WEIGHT + 1)


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


def test_the_trace_says_what_was_chosen():
    to = tiny.target()
    run = Decoding(to, DraftModel(to.model), PROMPT, Options(40, "auto"), costs=FLAT)
    chosen, rule = [], draft_length.make("auto", FLAT)
    for r in run:
        if r.index:
            left = 40 - r.start
            assert r.draft_len == min(rule.next(), left - 1)
            rule.observe(len(r.drafted), sum(d.verdict == "accepted" for d in r.drafted))
            chosen.append(r.draft_len)
    assert len(set(chosen)) > 1 and max(chosen) > 4             # the drafts of a perfect draft model get longer


def test_heuristic_is_a_constant_that_moves():
    assert isinstance(make("heuristic", FLAT), Heuristic) and make(0, FLAT).next() == 0
