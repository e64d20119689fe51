"""Counts and rates of hand-made rounds, measured costs, peak memory."""
from __future__ import annotations

import math

import pytest
import torch

from core.measuring import costs, stats
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from core.trace import Drafted, Emitted, Round
from tests.core import check, tiny


def round_(accepted: int, k: int, at: float = 1.0) -> Round:
    """A round of k drafted tokens, of which the first `accepted` are accepted, and the target's token."""
    results = ["accepted"] * accepted + ["rejected", *["not_reached"] * k][:k - accepted]
    drafted = [Drafted(5, "x", i - 1, 0.5, 0.5, 0.1, 1.0, result) for i, result in enumerate(results)]
    kind = "plain" if not k else "bonus" if accepted == k else "recovered"
    return Round(0, 0, k, drafted, [Emitted(5, "x", "accepted")] * accepted + [Emitted(5, "x", kind)], elapsed_s=at)


def test_the_denominators():
    """k = 3, accepted 0 and 3: acceptance rate .5, tokens per round 2.5, by position [.5, .5, .5]."""
    rounds = [round_(0, 0, 0.5), round_(0, 3, 1.0), round_(3, 3, 2.5)]
    t = stats.totals(rounds, "text", "length", 7)
    assert (t.drafted, t.accepted, t.tested, t.new_tokens, t.rounds) == (6, 3, 4, 6, 3)
    assert (t.acceptance_rate, t.tested_rate, t.tokens_per_round) == (0.5, 0.75, 2.5)
    assert t.acceptance_by_position == [0.5, 0.5, 0.5]
    assert (t.ttft_s, t.decode_s, t.text, t.stop, t.peak_memory_bytes) == (0.5, 2.0, "text", "length", 7)


def test_positions_have_their_own_denominator():
    rounds = [round_(0, 0), round_(1, 1), round_(2, 4), round_(0, 2), round_(3, 3)]
    t = stats.totals(rounds, "", "eos", None)
    assert t.acceptance_by_position == pytest.approx([3 / 4, 2 / 3, 1 / 2, 0 / 1])
    assert t.tokens_per_round == pytest.approx((2 + 3 + 1 + 4) / 4)
    check.totals(t, rounds)


@pytest.mark.parametrize("rounds", [[], [round_(0, 0)], [round_(0, 0)] * 3], ids=len)
def test_rates_without_a_denominator_are_none(rounds):
    t = stats.totals(rounds, "", "length", None)
    assert (t.acceptance_rate, t.tested_rate, t.tokens_per_round, t.acceptance_by_position) == (None, None, None, [])
    assert t.rounds == len(rounds) and t.drafted == t.accepted == t.tested == 0


def test_a_tree_counts_its_levels():
    """Two children of the root, two below the second: a round accepts at most one token a level, and tests each sibling."""
    nodes = [(-1, "rejected"), (-1, "accepted"), (1, "rejected"), (1, "rejected"), (0, "not_reached")]
    drafted = [Drafted(i, "x", parent, 0.5, 1.0, 0.1, 0.5, result) for i, (parent, result) in enumerate(nodes)]
    r = Round(1, 1, 2, drafted, [Emitted(1, "x", "accepted"), Emitted(9, "x", "recovered")], elapsed_s=2.0)
    t = stats.totals([round_(0, 0), r], "", "length", None)
    assert stats.depths(r) == [0, 0, 1, 1, 1]
    assert (t.drafted, t.accepted, t.tested, t.tokens_per_round, t.acceptance_by_position) == (2, 1, 4, 2.0, [1.0, 0.0])


def test_plain_record():
    plain = stats.plain_record([round_(0, 0, 0.5), round_(0, 0, 0.75), round_(0, 0, 1.5)])
    assert (plain["ttft_s"], plain["decode_s"], plain["elapsed_s"], plain["texts"]) == (0.5, 1.0, [0.5, 0.75, 1.5], ["x"] * 3)


def test_peak_memory_falls_again_between_runs():
    """The resident set's peak must be reset, since it never falls by itself (ru_maxrss)."""
    def peak(n: int) -> int | None:
        memory = stats.PeakMemory(torch.device("cpu"))
        block = torch.ones(n << 17, dtype=torch.float64)       # n MiB
        assert block.sum() > 0
        return memory.bytes()
    big, small = peak(300), peak(1)
    if big is None:
        pytest.skip("this system cannot reset the peak")
    assert big - small > 200 << 20


@pytest.mark.parametrize("positions", [1, 2, 4, 5, 8, 64, 200])
@pytest.mark.parametrize("draft", [True, False])
def test_costs_are_measured_in_any_context(positions, draft):
    """The keys of the record, also for contexts shorter than the measured passes."""
    to = tiny.target(max_positions=positions, num_layers=1)
    out = costs.measure(to, DraftModel(tiny.decoder(num_layers=1, max_positions=positions)) if draft else Proposer(), repeats=1)
    assert set(out) == {"plain_step_s", "verify_s", "draft_step_s", "other_s"}
    assert next(iter(out["verify_s"])) == "1" and out["plain_step_s"] == out["verify_s"]["1"]
    assert all(isinstance(k, str) and math.isfinite(s) and s > 0 for k, s in out["verify_s"].items())
    assert (out["draft_step_s"] is not None) == (draft and positions > 4)


def test_measuring_leaves_the_proposer_free():
    draft = DraftModel(tiny.decoder())
    assert costs.draft_seconds(tiny.target(), draft, 1) > 0
    assert draft.cache is None


def test_measuring_feeds_a_step_as_a_round_does(monkeypatch):
    """Each timed draft reads one new token, then its own k - 1 tokens. With fewer, the measured step would be too short."""
    model, fed = tiny.decoder(), []
    real = model.run
    monkeypatch.setattr(model, "run", lambda ids, *a, **k: fed.append(ids.shape[1]) or real(ids, *a, **k))
    costs.draft_seconds(tiny.target(max_positions=200), DraftModel(model), 2, k=4)
    assert fed[4:] and set(fed[4:]) <= {1, 2}


def test_choosing_threads_sets_a_valid_number(monkeypatch):
    before = torch.get_num_threads()
    try:
        monkeypatch.setattr(costs, "pass_seconds", lambda *a: 1.0)
        assert costs.choose_threads(tiny.target()) == torch.get_num_threads() == 1
        monkeypatch.setattr(costs, "pass_seconds", lambda *a: 1.0 / torch.get_num_threads())
        most = costs.choose_threads(tiny.target())
        assert costs.choose_threads(tiny.target(), spare=10 ** 6) == 1 <= most
    finally:
        torch.set_num_threads(before)
