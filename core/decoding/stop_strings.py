"""Stop strings: found while the output grows, without decoding all of it for each token."""
from __future__ import annotations

from collections.abc import Sequence

from core.models.text import INCOMPLETE, NoText, Text

MOST_WAITING = 8        # tokens held back for a character to become whole; four bytes are the most that one has


class StopStrings:
    """Reads the output token by token and looks for stop strings in its text.

    Special tokens count by their names, so that `<|end|>` can be a stop string, but `cut` does not return them. Each new token is decoded
    together with the few tokens before it, because a decoder may treat the first token of a text differently; the work therefore grows
    linearly with the output.
    """

    def __init__(self, stops: Sequence[str], text: Text | NoText) -> None:
        self.stops, self.text = tuple(stops), text
        self.longest = max(map(len, self.stops), default=0)
        self.parts: list[tuple[str, bool]] = []     # what was added to the text, and whether it shows
        self.tail = ""              # the last characters of `parts`: a stop string may have begun in them
        self.tokens: list[int] = []                 # all but the special ones
        self.first = self.read = 0                  # tokens[first:read] are decoded as context, tokens[read:] still wait
        self.context = ""           # text of tokens[first:read]
        self.waiting = ""           # text of tokens[read:], which ends inside a character

    def push(self, token: int) -> bool:
        """Whether the output holds a stop string, now that it goes on with `token`."""
        if not self.stops:
            return False
        if token in self.text.special:
            found = self._settle() if self.waiting else False
            return self._add(self.text.piece(token), False) or found
        self.tokens.append(token)
        self.waiting = self.text.decode(self.tokens[self.first:])[len(self.context):]
        if self.waiting.endswith(INCOMPLETE) and len(self.tokens) - self.read <= MOST_WAITING:
            return self._holds(self.tail + self.waiting.rstrip(INCOMPLETE))
        return self._settle()

    def cut(self) -> str:
        """The output's text without special tokens, up to the first stop string."""
        parts = [*self.parts, (self.waiting, True)]
        whole = "".join(text for text, _ in parts)
        left = min((whole.find(stop) for stop in self.stops if stop in whole), default=len(whole))
        shown = ""
        for text, shows in parts:
            shown += text[:left] if shows else ""
            left = max(0, left - len(text))
        return shown

    def _settle(self) -> bool:
        """Take the waiting text as it is."""
        text, self.waiting = self.waiting, ""
        self.first, self.read = self.read, len(self.tokens)
        self.context = self.text.decode(self.tokens[self.first:])
        return self._add(text, True)

    def _add(self, text: str, shows: bool) -> bool:
        recent = self.tail + text
        self.parts.append((text, shows))
        self.tail = recent[max(0, len(recent) - self.longest + 1):]
        return self._holds(recent)

    def _holds(self, text: str) -> bool:
        return any(stop in text for stop in self.stops)
