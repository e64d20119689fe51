"""A round on the host: the accepted path, the next token's kind, and what the record keeps of a draft that ends early."""
from __future__ import annotations

import pytest

from core.decoding.round_result import RoundResult
from core.trace import Round


def facts(tokens, accepted, tested, next_id, at, parents=None) -> dict:
    n = len(tokens)
    out = {"tokens": [float(t) for t in tokens], "accepted": [float(x) for x in accepted], "tested": [float(x) for x in tested],
           "p": [0.25] * n, "q": [0.5] * n, "u": [0.4] * n, "acceptance_prob": [0.5] * n, "next": [float(next_id), float(at)]}
    return out if parents is None else out | {"parents": [float(x) for x in parents]}


def written(result: RoundResult, count: int | None = None, greedy: bool = False) -> Round:
    round_ = Round(1, 0, len(result.tokens))
    result.write(round_, len(result.ids) if count is None else count, greedy, False, lambda t: f"<{t}>")
    return round_


@pytest.mark.parametrize(("accepted", "tested", "at", "kind", "verdicts"), [
    ([1, 1, 1], [1, 1, 1], 3, "bonus", ["accepted"] * 3), ([1, 0, 0], [1, 1, 0], 1, "recovered", ["accepted", "rejected", "not_reached"]),
    ([0, 0, 0], [1, 0, 0], 0, "recovered", ["rejected", "not_reached", "not_reached"])])
def test_a_chain(accepted, tested, at, kind, verdicts):
    result = RoundResult.of(facts([5, 6, 7], accepted, tested, 9, at))
    assert result.ids == [*[5, 6, 7][:at], 9] and result.path == list(range(at)) and result.levels == [1, 2, 3]
    round_ = written(result)
    assert [e.kind for e in round_.emitted] == ["accepted"] * at + [kind] and [d.verdict for d in round_.drafted] == verdicts
    assert [d.parent for d in round_.drafted] == [-1, 0, 1]


def test_nothing_drafted_is_plain():
    round_ = written(RoundResult.of(facts([], [], [], 4, 0)))
    assert [(e.id, e.text, e.kind) for e in round_.emitted] == [(4, "<4>", "plain")] and round_.drafted == []


def test_a_block_is_tested_whole():
    """Every token counts as tested; the next token replaces a rejected rest wherever it was drawn before the end."""
    result = RoundResult.of(facts([5, 6], [1, 0], [1, 1], 9, 1))
    assert result.recovered and [d.verdict for d in written(result).drafted] == ["accepted", "rejected"]
    assert not RoundResult.of(facts([5, 6], [1, 1], [1, 1], 9, 2)).recovered


#      root: 5, 6      below 6: 7, 8
TREE = {"tokens": [5, 6, 7, 8], "parents": [-1, -1, 1, 1]}


def test_a_tree_keeps_one_path():
    result = RoundResult.of(facts(TREE["tokens"], [0, 1, 0, 1], [1, 1, 1, 1], 9, 4, TREE["parents"]))
    assert result.path == [1, 3] and result.ids == [6, 8, 9] and result.levels == [1, 1, 2, 2] and not result.recovered


def test_a_tree_whose_children_were_all_rejected():
    result = RoundResult.of(facts(TREE["tokens"], [0, 1, 0, 0], [1, 1, 1, 1], 9, 2, TREE["parents"]))
    assert result.ids == [6, 9] and result.recovered


@pytest.mark.parametrize(("count", "left"), [(1, [5, 6]), (2, [5, 6, 7, 8]), (3, [5, 6, 7, 8])])
def test_what_was_drafted_behind_the_end_leaves_the_record(count, left):
    result = RoundResult.of(facts(TREE["tokens"], [0, 1, 0, 1], [1, 1, 1, 1], 9, 4, TREE["parents"]))
    round_ = written(result, count)
    assert [d.id for d in round_.drafted] == left and [e.id for e in round_.emitted] == [6, 8, 9][:count]
    assert all(-1 <= d.parent < len(left) for d in round_.drafted)


def test_greedy_has_no_uniforms():
    result = RoundResult.of(facts([5], [1], [1], 9, 1))
    assert written(result, greedy=True).drafted[0].u is None and written(result).drafted[0].u == 0.4
