"""Which ids are allowed: against all texts of a small language, after rollbacks, in trees, at the end; and what cannot be constrained."""
from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
import torch

from core.errors import UserError
from core.grammar.constraint import Constraint
from core.grammar.matcher import Cursor, Grammar, has, only
from core.models.text import NoText
from core.sampling import mask
from tests.core import tiny
from tests.core.grammar import texts
from tests.core.grammar.texts import EOS, PIECES

LANGUAGE = ["abcd", "abd", "abdabd", "cd", "cdab", "cdabab", "cdabac", "dabcab"]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}, "required": ["name", "n"],
          "additionalProperties": False}


@pytest.fixture(scope="module")
def words():
    return texts.text()


@pytest.fixture(scope="module")
def letters():
    """All bytes, each a token, and one end token."""
    return tiny.text(tiny.tokenizer())


def cursor(words, kind="choice", value=LANGUAGE, size=8, eos=(EOS,)) -> Cursor:
    return Cursor(Grammar(Constraint.of(kind, value), words, size, eos))


def ids(bits) -> set[int]:
    return set(np.unpackbits(bits.view(np.uint8), bitorder="little").nonzero()[0].tolist())


def possible(prefix: str) -> set[int]:
    """The ids that some text of the language goes on with; EOS where one ends."""
    goes_on = {i for i, p in enumerate(PIECES) if i != EOS and any(t.startswith(prefix + p) for t in LANGUAGE)}
    return goes_on | ({EOS} if prefix in LANGUAGE else set())


def test_masks_are_those_of_the_language(words):
    """Everything that the language allows, but where it leaves one text alone: there the one token that the tokenizer writes it with."""
    forced, places = 0, []
    todo = [[]]
    while todo:
        output = todo.pop()
        at = cursor(words)
        assert at.take(output) == len(output)
        here, want = ids(at.mask()), possible(texts.written(output))
        places.append(output)
        if len(here) == 1 and here != want:
            forced += 1
            rest = {t[len(texts.written(output)):] for t in LANGUAGE if t.startswith(texts.written(output))}
            assert here < want and all(t.startswith(PIECES[next(iter(here))]) for t in rest)
        else:
            assert here == want
        todo += [[*output, t] for t in here if t != EOS]
    assert forced and {texts.written(p) for p in places} >= set(LANGUAGE)


def test_a_rolled_back_branch_leaves_no_trace(words):
    rng, at = random.Random(1), cursor(words, "regex", "(ab(c|d)+a?){2,6}cd")
    output: list[int] = []
    for _ in range(60):
        new = texts.allowed(at.grammar.constraint, words, output)
        assert torch.equal(mask.allowed(torch.from_numpy(at.mask()), 8), new)
        for _ in range(3):                          # try a branch, then leave it
            depth = at.depth
            for _ in range(rng.randrange(1, 5)):
                options = sorted(ids(at.mask()) - {EOS})
                if not options:
                    break
                at.push(rng.choice(options))
            at.back_to(depth)
        options = sorted(ids(at.mask()) - {EOS})
        if not options:
            break
        step = rng.choice(options)
        assert at.take([step]) == 1
        output.append(step)
    assert len(output) > 10


def test_masks_of_a_tree_are_those_of_its_paths(words):
    constraint = Constraint.of("regex", "(ab(c|d)+a?){2,6}cd")
    rng = random.Random(2)
    for _ in range(20):
        at = Cursor(Grammar(constraint, words, 8, (EOS,)))
        start = at.forced(3)
        at.back_to(0)
        at.take(start)
        n = rng.randrange(0, 12)
        tokens, parents = [rng.randrange(8) for _ in range(n)], [rng.randrange(-1, i) for i in range(n)]
        bits, single = at.masks(tokens, parents)
        paths = [[]]
        for token, parent in zip(tokens, parents):
            paths.append([*paths[parent + 1], token])
        for row, path in enumerate(paths):
            got = mask.allowed(torch.from_numpy(bits[row]), 8)
            assert torch.equal(got, torch.ones(8, dtype=torch.bool) if EOS in path else texts.allowed(constraint, words, [*start, *path]))
            assert single[row] == (only(bits[row]) is not None) and (not single[row] or int(got.sum()) == 1)
        assert at.depth == 0


def test_the_end(words):
    at = cursor(words, "choice", ["ab", "abd"])
    assert at.take([5]) == 1 and ids(at.mask()) == {EOS, 4}         # it may end, or go on
    assert at.take([4]) == 1 and ids(at.mask()) == {EOS} and at.forced(9) == [EOS]
    assert at.take([EOS, 3, 3]) == 3 and at.ended                   # behind the end nothing is constrained
    assert (at.mask() == -1).all() and (at.masks([1, 2], [-1, 0])[0] == -1).all()
    assert cursor(words, "choice", ["ab"]).take([5, 4]) == 1        # a forbidden token is not taken
    two = cursor(words, "choice", ["ab"], eos=(EOS, 4))
    two.take([5])
    assert ids(two.mask()) == {EOS, 4} and two.forced(9) == []      # the target chooses between two end tokens


def test_characters_of_several_bytes_and_special_tokens(letters):
    spell = dict(zip(tiny.SPECIALS, range(2))), {b: letters.encode(chr(b), special=False)[0] for b in range(32, 127)}
    eos = spell[0]["<|end|>"]
    at = cursor(letters, "regex", "é.🙂", 258, (eos,))
    out = []
    for _ in range(12):
        options = ids(at.mask())
        if options == {eos}:
            break
        assert not options & {0, 1}                 # special tokens are no text
        token = spell[1][ord("x")] if spell[1][ord("x")] in options else min(options)
        assert at.take([token]) == 1
        out.append(token)
    assert letters.decode(out) == "éx🙂" and len(out) == 7


def test_a_schema_is_followed_to_the_letter(letters):
    at = cursor(letters, "json_schema", SCHEMA, 258, (0,))
    forced = at.forced(99)
    assert letters.decode(forced) == '{"name": "'
    at.back_to(0)
    whole = letters.encode('{"name": "A \\"b\\" é", "n": -12}', special=False)
    assert at.take(whole) == len(whole) and ids(at.mask()) == {0}
    for bad in ('{"n": 1', '{"name": 1', '{"name": "a", "n": 1.', '{"name": "a", "n": "', '{"name": "a"}', ' {"name"'):
        tokens = letters.encode(bad, special=False)
        assert cursor(letters, "json_schema", json.dumps(SCHEMA), 258, (0,)).take(tokens) < len(tokens)


@pytest.mark.parametrize("kind, value, said", [
    ("json_schema", {"type": "stringg"}, "--json-schema cannot be used: Invalid type: stringg."),
    ("json_schema", {"not": {}}, "Unimplemented keys"), ("json_schema", {"$ref": "http://a.b/c.json"}, "not present"),
    ("json_schema", {"enum": []}, "Unsatisfiable"), ("json_schema", {"type": "integer", "minimum": 5, "maximum": 3}, "Unsatisfiable"),
    ("json_schema", {"type": "string", "pattern": "("}, "unclosed group"),
    ("regex", "(", "--regex cannot be used: unclosed group."), ("regex", "a(?=b)", "look-around"), ("regex", r"(a)\1", "backreferences"),
    ("regex", r"[^\s\S]", "--regex: no text can be like that."), ("choice", ["xyz"], "--choice: no text can be like that.")])
def test_what_cannot_be_met_is_one_sentence(words, kind, value, said):
    with pytest.raises(UserError) as found:
        cursor(words, kind, value)
    assert said in str(found.value) and "\n" not in str(found.value) and len(str(found.value)) < 250


def test_what_cannot_be_constrained(words):
    with pytest.raises(UserError, match="tokenizer"):
        cursor(NoText())
    with pytest.raises(UserError, match="end-of-text"):
        cursor(words, eos=())


def test_bitmasks_as_tensors():
    rng = np.random.default_rng(0)
    bits = rng.integers(-2 ** 31, 2 ** 31, (3, 4), dtype=np.int32)
    for size in (128, 100, 33):
        got = mask.allowed(torch.from_numpy(bits), size)
        assert got.tolist() == [[has(row, i) for i in range(size)] for row in bits]
        assert torch.equal(got, mask._broadcast(torch.from_numpy(bits))[..., :size])
    for i, j in itertools.product((0, 5, 31), (0, 3)):
        one = np.zeros(4, np.int32)
        one[j] = np.uint32(1 << i).astype(np.int32)
        assert only(one) == 32 * j + i
    assert only(np.zeros(4, np.int32)) is None and only(np.array([3, 0], np.int32)) is None and only(np.array([1, 1], np.int32)) is None
