"""What draft length `auto` starts from: shares by level and rank, counted from recorded chains; and the shipped file."""
import json

import pytest

from core.checkpoints.load import ASSETS
from core.methods import registry
from core.runs import acceptance
from core.trace import Drafted, Round, Table


def chain(*verdicts: str) -> Round:
    """A greedy round whose target's token is the draft's second choice where the draft was rejected."""
    drafted = [Drafted(5, "x", i - 1, 1.0, 0.6, None, 1.0, v) for i, v in enumerate(verdicts)]
    tables = [Table(i - 1, [5, 7, 9], ["x", "y", "z"], [1.0, 0, 0] if v == "accepted" else [0, 1.0, 0], [0.6, 0.3, 0.1], None, [0.0] * 3,
                    [3.0, 2.0, 1.0], None, {"p": 0.0, "q": 0.0, "residual": None, "overlap": None}) for i, v in enumerate(verdicts)]
    return Round(1, 0, len(verdicts), drafted=drafted, tables=tables)


def test_shares_by_level_and_rank():
    rounds = [chain("accepted", "accepted")] * 30 + [chain("accepted", "rejected")] * 10 + [chain("rejected", "not_reached")] * 10
    assert acceptance.shares(rounds) == [[0.8, 0.2, *[0.0] * 6], [0.75, 0.25, *[0.0] * 6]]
    assert acceptance.shares(rounds[:29]) == []                             # too few to say anything


def test_ranks_share_what_the_first_leaves():
    assert acceptance.possible([0.8, 0.5, 0.3]) == [0.8, 0.125, 0.075] and acceptance.possible([0.5]) == [0.5] == acceptance.possible([0.5, 0, 0])
    assert acceptance.with_ranks([[0.4], [0.9]], [[0.2, 0.1], [0.1, 0.1], [0.1, 0.0]]) == [[0.4, 0.2], [0.9, 0.1]]


@pytest.mark.parametrize("kind", ["greedy", "sampled"])
def test_the_shipped_shares_are_possible(kind):
    shipped = json.loads((ASSETS / "smollm2" / "acceptance.json").read_text())[kind]
    assert {m.name for m in registry.METHODS.values() if m.drafts and "+" not in m.name} | {"lookup+"} == set(shipped)
    for levels in shipped.values():
        assert levels
        for ranks in levels:
            assert 0 < ranks[0] <= 1 and ranks == sorted(ranks, reverse=True) and sum(ranks) <= 1 + 1e-3 and 1 <= len(ranks) <= acceptance.RANKS
