"""Finds stop strings while the output grows, without decoding the whole output for each token."""
from __future__ import annotations

from collections.abc import Sequence

from core.models.text import NoText, Text

INCOMPLETE = "\ufffd"       # what a tokenizer writes for a character whose last bytes are missing


class StopStrings:
    """Reads the output token by token. Special tokens are read by their names, so that `<|end|>` can be a stop string."""

    def __init__(self, stops: Sequence[str], text: Text | NoText) -> None:
        self.stops, self.text = tuple(stops), text
        self.longest = max(map(len, self.stops), default=0)
        self.tokens: list[int] = []
        self._first = 0         # decoding starts at tokens already read, since a tokenizer may decode its first token differently
        self._read = 0          # tokens whose characters are complete
        self._prefix = ""       # text of tokens[_first:_read]
        self._tail = ""         # the last characters before tokens[_read]: a stop string may begin in them

    def push(self, token: int) -> bool:
        """Add a token. Returns whether the output now contains a stop string."""
        if not self.stops:
            return False
        self.tokens.append(token)
        text = self.text.decode(self.tokens[self._first:], special=True)
        recent = self._tail + text[len(self._prefix):]
        found = any(stop in recent for stop in self.stops)
        if not text.endswith(INCOMPLETE):
            self._tail = recent[-(self.longest - 1):] if self.longest > 1 else ""
            self._first, self._read = self._read, len(self.tokens)
            self._prefix = self.text.decode(self.tokens[self._first:], special=True)
        return found

    def cut(self, tokens: Sequence[int]) -> str:
        """The decoded output without special tokens, cut before the first stop string."""
        whole = self.text.decode(tokens, special=True)
        start = min((whole.find(stop) for stop in self.stops if stop in whole), default=len(whole))
        n = next((i for i in range(len(tokens) + 1) if len(self.text.decode(tokens[:i], special=True)) > start), len(tokens))
        shown, inside = self.text.decode(tokens[:n]), len(self.text.decode(tokens[:n], special=True)) - start
        if n and self.text.decode(tokens[n - 1:n]) == "":        # the stop string begins in a special token, which is not shown
            return shown
        return shown[:len(shown) - inside] if inside > 0 else shown
