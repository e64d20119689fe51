"""A round's result on the host: the accepted path and the next token at once, the record later."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.decoding import tables
from core.decoding.tables import Host
from core.trace import Drafted, Emitted, Round


@dataclass(frozen=True)
class RoundResult:
    """The fetched facts of a round (core.decoding.verification), by drafted node."""
    host: Host
    tokens: list[int]
    parents: list[int]
    levels: list[int]           # 1 = behind the root
    path: list[int]             # accepted nodes, in order
    last: int                   # the token that the target added
    at: int                     # the position it was drawn at: 0 the root, i + 1 behind node i
    recovered: bool             # whether it replaces a rejected one

    @classmethod
    def of(cls, host: Host, block: bool) -> RoundResult:
        """block: the whole draft is tested at once, so that a token drawn before its end replaces a rejected rest."""
        tokens = [int(t) for t in host["tokens"]]
        n = len(tokens)
        parents = [int(x) for x in host["parents"]] if "parents" in host else list(range(-1, n - 1))
        last, at = (int(x) for x in host["next"])
        levels = [0] * n
        for i in range(n):
            levels[i] = 1 if parents[i] < 0 else levels[parents[i]] + 1
        recovered = any(host["tested"][i] and not host["accepted"][i] for i in range(n) if parents[i] == at - 1) or (block and at < n)
        return cls(host, tokens, parents, levels, [i for i in range(n) if host["accepted"][i]], last, at, recovered)

    @property
    def ids(self) -> list[int]:
        """The tokens of the round, before anything is cut at an end."""
        return [*(self.tokens[i] for i in self.path), self.last]

    def write(self, round_: Round, count: int, greedy: bool, recorded: bool, piece: Callable[[int], str]) -> None:
        """Fill `round_`: its first `count` tokens, its draft and, if `recorded`, its tables."""
        host, n = self.host, len(self.tokens)
        kinds = ["accepted"] * len(self.path) + ["plain" if not n else "recovered" if self.recovered else "bonus"]
        round_.emitted = [Emitted(t, piece(t), kind) for t, kind in zip(self.ids[:count], kinds)]
        # what was drafted behind the end of the output never mattered: it leaves the record and every count
        ended = count <= len(self.path)
        keep = [i for i in range(n) if not ended or self.levels[i] <= count]
        place = {old: new for new, old in enumerate(keep)} | {-1: -1}
        for i in keep:
            verdict = "accepted" if host["accepted"][i] else "rejected" if host["tested"][i] else "not_reached"
            round_.drafted.append(Drafted(self.tokens[i], piece(self.tokens[i]), place[self.parents[i]], host["p"][i], host["q"][i],
                                          None if greedy else host["u"][i], host["acceptance_prob"][i], verdict))
        if recorded:
            listed = tables.tables({name[6:]: x for name, x in host.items() if name.startswith("table.")}, self.tokens, self.parents,
                                   host["p"], host["q"], self.at if self.recovered else None, piece)
            round_.tables = [listed[i] for i in range(n + 1) if not ended or i == 0 or (i - 1 in place and self.levels[i - 1] < count)]
            for table in round_.tables:
                table.after = place[table.after]
