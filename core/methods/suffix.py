"""Suffix decoding: drafts what most often followed the same tokens, in this text and in what this target has written before.

Drawn by assets/js/watch/cards.js.
"""
from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from core.methods.base import Context, Draft, Proposer
from core.methods.settings import Setting
from core.models.host_copy import to_device
from core.models.target import Target

if TYPE_CHECKING:
    from core.checkpoints.load import Pair

LONGEST_CONTEXT = 6         # longest context that is counted, in tokens
REMEMBERED = 16384  # tokens of earlier outputs kept for each target; the oldest output is dropped first


class Counts:
    """For each context of 1 to LONGEST_CONTEXT tokens, how often each token followed it."""

    def __init__(self) -> None:
        self.after: dict[tuple[int, ...], dict[int, int]] = {}

    def add(self, tokens: list[int], start: int = 0, by: int = 1) -> None:
        """Count tokens[start:], each after its own contexts; by = -1 takes the counts back."""
        for end in range(max(start, 1), len(tokens)):
            for n in range(1, min(LONGEST_CONTEXT, end) + 1):
                key = tuple(tokens[end - n:end])
                row = self.after.setdefault(key, {})
                row[tokens[end]] = row.get(tokens[end], 0) + by
                if not row[tokens[end]]:
                    del row[tokens[end]]
                    if not row:
                        del self.after[key]


class Earlier:
    """The latest outputs that a target has written in this process. Several threads may read and add; hold `lock` to read `counts`."""

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


EARLIER: WeakKeyDictionary[Target, Earlier] = WeakKeyDictionary()       # by target: another target has other ids


class Suffix(Proposer):
    """After SuffixDecoding (Oliaro et al. 2024). A deterministic draft: q is one-hot.

    A drafted token's estimated probability is its share of what followed the same context; the draft ends where the product of these
    falls below `suffix_confidence`. Earlier outputs change the drafts and so, with sampling, which uniform decides about which token:
    the same seed gives the same text only after the same earlier outputs. The output's distribution, and greedy output, never change.
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
        text, estimate = ctx.tokens[-LONGEST_CONTEXT:], 1.0
        with self.earlier.lock:
            for _ in range(k):
                token, share = self.likeliest(text[-LONGEST_CONTEXT:])
                estimate *= share
                if token is None or estimate < self.least:
                    break
                text.append(token)
        drafted = text[min(LONGEST_CONTEXT, len(ctx.tokens)):]
        return Draft(to_device(drafted, ctx.device)) if drafted else None

    def likeliest(self, context: list[int]) -> tuple[int | None, float]:
        """(token, its share) after the longest end of `context` that was counted. The 1/n leaves more room for unseen tokens after short contexts."""
        for n in range(len(context), 0, -1):
            key = tuple(context[-n:])
            own, past = self.own.after.get(key, {}), self.earlier.counts.after.get(key, {})
            if own or past:
                counts = {t: own.get(t, 0) + past.get(t, 0) for t in (*own, *past)}
                token = max(counts, key=counts.get)
                return token, counts[token] / (sum(counts.values()) + 1 / n)
        return None, 0.0
