"""A round's result on the host: the accepted path and the next token, and from them its record."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.decoding import tables
from core.decoding.tables import Host
from core.trace import Drafted, Emitted, Round


@dataclass(frozen=True)
class RoundResult:
    """The result of a round, by drafted node. host: the facts that Verification.accept packed, copied to the host."""
    host: Host
    tokens: list[int]
    parents: list[int]
    levels: list[int]           # depth of each node, 1 = child of the root
    path: list[int]             # the accepted nodes, from the root down
    last: int                   # the recovered, bonus or plain token
    at: int                     # position that it was drawn at: 0 = root, i + 1 = after node i
    recovered: bool             # whether it replaces a rejected token
    single: list[bool]          # of each position, 0 = root: whether the grammar allows one id alone, which is then forced

    @classmethod
    def of(cls, host: Host, single: list[bool] | None = None) -> RoundResult:
        tokens = [int(t) for t in host["tokens"]]
        n = len(tokens)
        parents = [int(x) for x in host["parents"]] if "parents" in host else list(range(-1, n - 1))
        last, at = (int(x) for x in host["next"])
        levels = [0] * n
        for i in range(n):
            levels[i] = 1 if parents[i] < 0 else levels[parents[i]] + 1
        recovered = any(host["tested"][i] and not host["accepted"][i] for i in range(n) if parents[i] == at - 1)
        return cls(host, tokens, parents, levels, [i for i in range(n) if host["accepted"][i]], last, at, recovered,
                   single or [False] * (n + 1))

    @property
    def free(self) -> tuple[int, int]:
        """Levels drafted and accepted without the forced ones, whose acceptance is no merit of the draft."""
        levels = [0] * len(self.tokens)
        for i, parent in enumerate(self.parents):
            levels[i] = (levels[parent] if parent >= 0 else 0) + (not self.forced(i))
        return max(levels, default=0), sum(not self.forced(i) for i in self.path)

    def forced(self, node: int) -> bool:
        """Whether the grammar forces a drafted node."""
        return self.single[self.parents[node] + 1]

    @property
    def ids(self) -> list[int]:
        """The tokens that the round gives, before they are cut at EOS, a stop string or the limit."""
        return [*(self.tokens[i] for i in self.path), self.last]

    def write(self, round_: Round, count: int, certain: bool, recorded: bool, piece: Callable[[int], str]) -> None:
        """Fill `round_` with its first `count` tokens, its draft and, if `recorded`, its tables. certain: no uniform decides
        (greedy or coupled); piece: token id -> text."""
        host, n = self.host, len(self.tokens)
        kinds = ["accepted"] * len(self.path) + ["plain" if not n else "recovered" if self.recovered else "bonus"]
        forced = [*map(self.forced, self.path), self.single[self.at]]
        round_.emitted = [Emitted(t, piece(t), kind, certain_) for t, kind, certain_ in zip(self.ids[:count], kinds, forced)]
        # tokens drafted after the end of the output are left out of the record and of every count
        ended = count <= len(self.path)
        shown = [i for i in range(n) if not ended or self.levels[i] <= count]
        shown_index = {old: new for new, old in enumerate(shown)} | {-1: -1}
        for i in shown:
            verdict = "accepted" if host["accepted"][i] else "rejected" if host["tested"][i] else "not_reached"
            round_.drafted.append(Drafted(self.tokens[i], piece(self.tokens[i]), shown_index[self.parents[i]], host["p"][i], host["q"][i],
                                          None if certain else host["u"][i], host["acceptance_prob"][i], verdict, self.forced(i)))
        if recorded:
            listed = tables.tables({name[6:]: x for name, x in host.items() if name.startswith("table.")}, self.tokens, self.parents,
                                   host["p"], host["q"], self.at if self.recovered else None, piece)
            if "mask.allowed" in host:
                for table, one in zip(listed, tables.masks(host, piece)):
                    table.mask = one
            round_.tables = [listed[i] for i in range(n + 1) if not ended or i == 0 or (i - 1 in shown_index and self.levels[i - 1] < count)]
            for table in round_.tables:
                table.after = shown_index[table.after]
