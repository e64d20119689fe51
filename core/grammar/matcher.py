"""A constraint compiled for one vocabulary, and a run's place in it: which ids are allowed next, and which one alone.

The library is llguidance: it parses bytes, so that parts of UTF-8 characters and tokens across two elements are its affair. Where the
grammar leaves only one text, it allows only that text's own tokens, so a forced token is the only one of its position and certain.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from core.errors import EnvironmentFailure, UserError
from core.grammar.constraint import Constraint
from core.models.text import NoText, Text

if TYPE_CHECKING:
    import numpy as np
    from llguidance import LLTokenizer

# like json.dumps: what models mostly write, and the less whitespace is free, the more tokens are forced
JSON = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
TOKENIZERS: WeakKeyDictionary[Text, dict[tuple, LLTokenizer]] = WeakKeyDictionary()


class Grammar:
    """A constraint over a target's ids. words: int32 words of a bitmask, one bit an id."""

    def __init__(self, constraint: Constraint, text: Text | NoText, vocab_size: int, eos_ids: Sequence[int]) -> None:
        """Raises UserError for a schema, pattern or choice that cannot be read or met, or a target that cannot be constrained."""
        from llguidance import LLMatcher
        self.constraint, self.vocab_size, self.eos_ids = constraint, vocab_size, frozenset(eos_ids)
        self.words = -(-vocab_size // 32)
        tokenizer = _tokenizer(constraint, text, vocab_size, eos_ids)
        try:
            source = _source(constraint)
        except ValueError as error:
            raise _bad(constraint, str(error)) from None
        self.matcher = LLMatcher(tokenizer, source, log_level=0)
        if self.matcher.is_error():
            raise _bad(constraint, self.matcher.get_error())
        try:
            possible = bool(Cursor(self).mask().any())
        except EnvironmentFailure:          # how the library says that no text matches
            possible = False
        if not possible:
            raise UserError(f"{constraint.flag}: no text can be like that.", "grammar_nothing")


class Cursor:
    """A place in a grammar, on the host. `take` moves it for good; `push` and `back_to` try a branch and leave it again."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar, self.matcher = grammar, grammar.matcher.deep_copy()
        self.ended = False      # EOS was taken: behind it everything is allowed, which only a run that ignores EOS sees
        self.depth = 0          # tokens pushed and not left again

    def mask(self) -> np.ndarray:
        """int32 [words]: the ids allowed next, bit i of word j = id 32 j + i. EOS is among them exactly where the text may end."""
        import numpy as np  # here, since `core.gpu_check` runs where only torch is
        if self.ended:
            return np.full(self.grammar.words, -1, np.int32)
        out = np.zeros(self.grammar.words, np.int32)
        self.matcher.unsafe_compute_mask_ptr(out.ctypes.data, out.nbytes)
        if self.matcher.is_error():
            raise EnvironmentFailure(f"{self.grammar.constraint.flag} became too complex while it was followed: {_line(self.matcher.get_error())}.")
        return out

    def push(self, token: int) -> None:
        """Go on with a token that the mask allows, but not EOS."""
        self.matcher.consume_token(token)
        self.depth += 1

    def back_to(self, depth: int) -> None:
        """Leave all tokens pushed since `depth`."""
        if self.depth > depth:
            self.matcher.rollback(self.depth - depth)
            self.depth = depth

    def take(self, tokens: Sequence[int]) -> int:
        """Go on for good with tokens of the output. Returns how many fit; the others are not taken."""
        for i, token in enumerate(tokens):
            if self.ended:
                return len(tokens)
            if not has(self.mask(), token):
                return i
            if token in self.grammar.eos_ids:
                self.ended = True
            else:
                self.matcher.consume_token(token)
        return len(tokens)

    def forced(self, most: int) -> list[int]:
        """Up to `most` tokens from here that are each the only one allowed, pushed (but EOS, behind which none follows)."""
        out: list[int] = []
        while len(out) < most:
            token = only(self.mask())
            if token is None:
                break
            out.append(token)
            if token in self.grammar.eos_ids:
                break
            self.push(token)
        return out

    def masks(self, tokens: Sequence[int], parents: Sequence[int]) -> tuple[np.ndarray, list[bool]]:
        """The masks int32 [N + 1, words] at the root and after each drafted node, and whether each allows one id alone.

        Behind a node that is forbidden, or EOS, every id is allowed: verification never gets there, or the run goes on without the grammar.
        """
        import numpy as np
        n, at_start = len(tokens), self.depth
        out, single = np.full((n + 1, self.grammar.words), -1, np.int32), [False] * (n + 1)
        if self.ended:
            return out, single
        children: list[list[int]] = [[] for _ in range(n + 1)]
        for i, parent in enumerate(parents):
            children[parent + 1].append(i + 1)
        level = [0] * (n + 1)
        todo = [0]              # depth first, so that a branch is left by a rollback
        while todo:
            at = todo.pop()
            if at:
                above, token = parents[at - 1] + 1, tokens[at - 1]
                level[at] = level[above] + 1
                if not has(out[above], token) or token in self.grammar.eos_ids:
                    continue
                self.back_to(at_start + level[above])
                self.push(token)
            out[at] = self.mask()
            single[at] = only(out[at]) is not None
            todo += reversed(children[at])
        self.back_to(at_start)
        return out, single


def has(mask: np.ndarray, token: int) -> bool:
    """Whether an id is in a mask."""
    return bool(mask[token >> 5] >> (token & 31) & 1)


def only(mask: np.ndarray) -> int | None:
    """The id of a mask that allows one alone, else None."""
    words = mask.nonzero()[0]
    if len(words) != 1:
        return None
    bits = int(mask[words[0]]) & 0xFFFFFFFF
    return int(words[0]) * 32 + bits.bit_length() - 1 if not bits & (bits - 1) else None


def _tokenizer(constraint: Constraint, text: Text | NoText, vocab_size: int, eos_ids: Sequence[int]) -> LLTokenizer:
    """The library's view of a tokenizer, kept with it: making one takes about 0.15 s. Raises UserError where there is none to read."""
    from llguidance import LLTokenizer
    backend = getattr(getattr(text, "tokenizer", None), "backend_tokenizer", None)
    if backend is None:
        raise UserError(f"{constraint.flag} needs a target with a tokenizer.json: this one has none.")
    if not eos_ids:
        raise UserError(f"{constraint.flag} needs a target with an end-of-text token: without it the output could not end.")
    known, key = TOKENIZERS.setdefault(text, {}), (vocab_size, tuple(eos_ids))
    if key not in known:
        try:
            known[key] = LLTokenizer(backend.to_str(), n_vocab=vocab_size, eos_token=list(eos_ids))
        except Exception as error:      # whatever the library makes of a strange tokenizer
            raise UserError(f"{constraint.flag}: the target's tokenizer is of a kind that cannot be constrained ({_line(str(error))}).") from None
    return known[key]


def _source(constraint: Constraint) -> str:
    """The constraint in the library's own notation. Raises ValueError."""
    from llguidance import LLMatcher
    if constraint.kind == "json_schema":
        return LLMatcher.grammar_from_json_schema(constraint.value, overrides=JSON)
    if constraint.kind == "regex":
        return LLMatcher.grammar_from_regex(constraint.value)
    return LLMatcher.grammar_from_lark("start: " + " | ".join(json.dumps(x, ensure_ascii=False) for x in json.loads(constraint.value)))


def _bad(constraint: Constraint, why: str) -> UserError:
    return UserError(f"{constraint.flag} cannot be used: {_line(why)}.", "grammar_bad", why=_line(why))


def _line(why: str) -> str:
    """The library's message as one short line: of a parser's drawing only its `error:` line counts."""
    lines: list[Any] = [x.strip() for x in why.splitlines() if x.strip()]
    error = next((x.removeprefix("error:").strip() for x in lines if x.startswith("error:")), None)
    return (error or (lines[0] if lines else "unknown"))[:160].rstrip(".")
