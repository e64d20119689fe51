"""How the values of options are read: argparse calls these, and what they raise becomes one sentence with exit code 2."""
from __future__ import annotations

from argparse import ArgumentTypeError


def whole(text: str) -> int:
    """A whole number from 0 up."""
    if not text.strip().isdecimal() or len(text) > 100:
        raise ArgumentTypeError(f"{text[:40]!r} is not a whole number from 0 up")
    return int(text)


def draft_len(text: str) -> int | str:
    """Tokens drafted a round: a whole number, or the name of a rule that chooses it."""
    return text if text in ("auto", "heuristic", "constant") else whole(text)


def port(text: str) -> int:
    """A TCP port."""
    if not text.strip().isdecimal() or len(text) > 100 or not 1 <= int(text) <= 65535:
        raise ArgumentTypeError(f"{text[:40]!r} is not a port from 1 to 65535")
    return int(text)
