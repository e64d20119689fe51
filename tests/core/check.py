"""What holds for every recorded run of a chain: `run` checks its rounds, tables and totals. Used by most tests that decode."""
from __future__ import annotations

import math
from typing import Any

import pytest

from core import trace
from core.decoding.loop import Decoding
from core.measuring import stats
from core.trace import Drafted, Round, Table

ROUNDED = 2e-5      # tables carry six significant digits


def run(decoding: Decoding, rounds: list[Round], prompt_len: int) -> None:
    """Check a run: counts, positions, kinds, times, and every round and table."""
    assert [r.index for r in rounds] == list(range(len(rounds)))
    assert [e.id for r in rounds for e in r.emitted] == decoding.new_tokens == decoding.tokens[prompt_len:]
    position, limit = 0, decoding.limit
    for r in rounds:
        assert r.start == position
        assert 0 <= r.draft_len <= max(0, limit - position - 1) if r.index else r.draft_len == 0
        position += len(r.emitted)
        round_(r, decoding.options.sampling.greedy, decoding.stop if r is rounds[-1] else None)
        if decoding.options.record:
            tables(r)
        else:
            assert r.tables == []
    assert position <= limit
    assert decoding.stop in trace.STOPS
    assert (decoding.stop == "length") <= (position == limit)
    times = [r.elapsed_s for r in rounds]
    assert times == sorted(times)
    totals(stats.totals(rounds, "", decoding.stop, None), rounds)


def round_(r: Round, greedy: bool, stop: str | None) -> None:
    """A prefix of the chain is accepted, the next token rejected, the rest not reached; and kinds agree with that."""
    results = [d.verdict for d in r.drafted]
    accepted = results.count("accepted")
    assert results[:accepted] == ["accepted"] * accepted
    assert results[accepted:] in ([], ["rejected"] + ["not_reached"] * (len(results) - accepted - 1))
    assert [d.parent for d in r.drafted] == list(range(-1, len(r.drafted) - 1))
    assert len(r.drafted) <= r.draft_len
    for d in r.drafted:
        drafted(d, greedy)
    own = [e for e in r.emitted if e.kind == "accepted"]
    assert [e.id for e in own] == [d.id for d in r.drafted[:accepted]]
    last = [e.kind for e in r.emitted[accepted:]]
    want = "plain" if not r.drafted else "bonus" if accepted == len(r.drafted) else "recovered"
    assert last == [want] or (stop is not None and last == [] and accepted == len(r.drafted))


def drafted(d: Drafted, greedy: bool) -> None:
    """The acceptance probability is p / q, and u was compared with it."""
    assert 0 <= d.p <= 1 + 1e-6 and 0 < d.q <= 1 + 1e-6
    assert d.threshold == pytest.approx(d.p / d.q, rel=1e-6)
    if greedy:
        assert d.u is None and (d.verdict == "not_reached" or (d.p > 0) == (d.verdict == "accepted"))
    else:
        assert 0 <= d.u < 1
        assert d.verdict == "not_reached" or (d.u < d.threshold) == (d.verdict == "accepted")


def tables(r: Round) -> None:
    """There is a table for every position, with a residual only where a token was rejected."""
    whole = bool(r.emitted) and r.emitted[-1].kind != "accepted"
    assert len(r.tables) in ([len(r.drafted) + 1] if whole else [len(r.drafted), len(r.drafted) + 1])
    assert [t.after for t in r.tables] == list(range(-1, len(r.tables) - 1))
    for i, table in enumerate(r.tables):
        node = r.drafted[i] if i < len(r.drafted) else None
        one_table(table, node)
        resampled = node is not None and node.verdict == "rejected"
        assert (table.residual is not None) == resampled
        if resampled:
            residual(table)
    if whole:
        last = r.tables[sum(d.verdict == "accepted" for d in r.drafted)]
        at = last.ids.index(r.emitted[-1].id) if r.emitted[-1].id in last.ids else None
        dist = last.residual if last.residual is not None else last.p
        assert at is None or dist[at] > 0


def one_table(t: Table, node: Drafted | None) -> None:
    """Listed values and `others` are whole distributions. node: the token drafted there, None at the bonus position."""
    assert len(set(t.ids)) == len(t.ids) == len(t.texts) == len(t.p) == len(t.logit_p)
    assert sum(t.p) + t.others["p"] == pytest.approx(1, abs=ROUNDED)
    if node is None:
        assert t.q is None and t.overlap is None and t.logit_q is None and t.residual is None
        return
    at = t.ids.index(node.id)
    assert (t.p[at], t.q[at]) == (pytest.approx(node.p, rel=1e-5), pytest.approx(node.q, rel=1e-5))
    assert sum(t.q) + t.others["q"] == pytest.approx(1, abs=ROUNDED)
    assert t.overlap == pytest.approx(sum(map(min, t.p, t.q)) + t.others["overlap"], abs=ROUNDED)
    assert -ROUNDED <= t.overlap <= 1 + ROUNDED


def residual(t: Table) -> None:
    """Listed residuals are norm(max(0, p - q)); its mass is 1 - overlap."""
    assert sum(t.residual) + t.others["residual"] == pytest.approx(1, abs=ROUNDED)
    mass = 1 - t.overlap
    if mass > 1e-3:
        assert t.residual == pytest.approx([max(0.0, p - q) / mass for p, q in zip(t.p, t.q)], abs=ROUNDED / mass)


def totals(t: Any, rounds: list[Round]) -> None:
    """The same counts and rates by plain sums."""
    drafting = [r for r in rounds if r.drafted]
    accepted = [sum(d.verdict == "accepted" for d in r.drafted) for r in drafting]
    assert t.rounds == len(rounds) and t.new_tokens == sum(len(r.emitted) for r in rounds)
    assert t.drafted == sum(len(r.drafted) for r in drafting) and t.accepted == sum(accepted)
    assert t.tested == sum(d.verdict != "not_reached" for r in drafting for d in r.drafted)
    for rate, top, bottom in ((t.acceptance_rate, t.accepted, t.drafted), (t.tested_rate, t.accepted, t.tested),
                              (t.tokens_per_round, sum(len(r.emitted) for r in drafting), len(drafting))):
        assert rate == (pytest.approx(top / bottom) if bottom else None)
    deepest = max((len(r.drafted) for r in drafting), default=0)
    by_position = [sum(n > i for n in accepted) / sum(len(r.drafted) > i for r in drafting) for i in range(deepest)]
    assert t.acceptance_by_position == pytest.approx(by_position)
    assert all(math.isfinite(x) for x in (t.ttft_s, t.decode_s))
