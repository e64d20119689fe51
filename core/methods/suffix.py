"""Suffix lookup: proposes what most often followed the same tokens, in this text and in what this target wrote earlier.

Drawn by assets/js/watch/cards.js.
"""
from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from core.methods.base import Context, Draft, Proposer
from core.methods.settings import Setting
from core.models.host_copy import send
from core.models.target import Target

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

DEEPEST = 6         # tokens of context counted
REMEMBERED = 16384  # tokens of earlier outputs kept for each target; the oldest output goes first


class Counts:
    """context of 1 to DEEPEST tokens -> how often each token followed it."""

    def __init__(self) -> None:
        self.after: dict[tuple[int, ...], dict[int, int]] = {}

    def add(self, tokens: list[int], start: int = 0, by: int = 1) -> None:
        """Count tokens[start:], each behind its own context; by = -1 takes them back."""
        for end in range(max(start, 1), len(tokens)):
            for n in range(1, min(DEEPEST, end) + 1):
                key = tuple(tokens[end - n:end])
                row = self.after.setdefault(key, {})
                row[tokens[end]] = row.get(tokens[end], 0) + by
                if not row[tokens[end]]:
                    del row[tokens[end]]
                    if not row:
                        del self.after[key]


class Earlier:
    """The outputs that a target wrote in this process, bounded; runs of several threads may read and add."""

    def __init__(self) -> None:
        self.counts, self.outputs, self.size, self.lock = Counts(), deque(), 0, threading.Lock()

    def remember(self, output: list[int]) -> None:
        output = output[-REMEMBERED:]
        with self.lock:
            self.counts.add(output)
            self.outputs.append(output)
            self.size += len(output)
            while self.size > REMEMBERED:
                oldest = self.outputs.popleft()
                self.counts.add(oldest, by=-1)
                self.size -= len(oldest)


EARLIER: WeakKeyDictionary[Target, Earlier] = WeakKeyDictionary()       # ids mean nothing to another target


class Suffix(Proposer):
    """After SuffixDecoding (Oliaro et al. 2024). A deterministic draft (q one-hot), so the output's law is the target's.

    The draft ends where the product of the observed shares falls below `suffix_confidence`: its length follows how sure the past
    is. What was written earlier changes drafts, and with sampling therefore which uniforms decide what: the same seed gives
    the same text again only with the same past. Greedy output never depends on it.
    """

    name = "suffix"
    settings = (Setting("suffix_confidence", float, 0.3, "end the draft where its estimated probability falls below this", 0, 1),)

    def __init__(self, target: Target, suffix_confidence: float = 0.3) -> None:
        self.earlier = EARLIER.setdefault(target, Earlier())
        self.least = suffix_confidence
        self.tokens: list[int] | None = None

    @classmethod
    def build(cls, pair: Pair, **settings) -> Suffix:
        return cls(pair.target, **settings)

    def forget(self) -> None:
        with self.earlier.lock:
            self.earlier.counts, self.earlier.size = Counts(), 0
            self.earlier.outputs.clear()

    def begin(self, ctx: Context) -> None:
        self.tokens, self.start, self.read, self.own = ctx.tokens, len(ctx.tokens), 0, Counts()

    def end(self) -> None:
        if self.tokens is not None:
            self.earlier.remember(self.tokens[self.start:])
        self.tokens = self.own = None

    def propose(self, ctx: Context, k: int) -> Draft | None:
        self.own.add(ctx.tokens, self.read)
        self.read = len(ctx.tokens)
        text, sure = ctx.tokens[-DEEPEST:], 1.0
        with self.earlier.lock:
            for _ in range(k):
                token, share = self.likeliest(text[-DEEPEST:])
                sure *= share
                if token is None or sure < self.least:
                    break
                text.append(token)
        drafted = text[min(DEEPEST, len(ctx.tokens)):]
        return Draft(send(drafted, ctx.device)) if drafted else None

    def likeliest(self, context: list[int]) -> tuple[int | None, float]:
        """(token, its share) behind the longest known end of `context`. A short context leaves more room for the unseen."""
        for n in range(len(context), 0, -1):
            key = tuple(context[-n:])
            own, past = self.own.after.get(key, {}), self.earlier.counts.after.get(key, {})
            if own or past:
                counts = {t: own.get(t, 0) + past.get(t, 0) for t in (*own, *past)}
                token = max(counts, key=counts.get)
                return token, counts[token] / (sum(counts.values()) + 1 / n)
        return None, 0.0
