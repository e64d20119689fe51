"""Stop strings, token by token: special tokens, split characters, tokenizers with a leading space, and few tokens decoded for each new one."""
from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer, decoders, models

from core.decoding.loop import Decoding, Options
from core.decoding.stop_strings import StopStrings
from core.methods.base import Proposer
from core.models.text import NoText, Text
from tests.core import tiny

END, USER = 0, 1        # tiny.SPECIALS


def byte_level() -> Text:
    """Its last token is "ax" and the first two bytes of "日"."""
    return tiny.text(tiny.tokenizer(("ab", "abc", "\u0120ab", "ax\u00e6\u0139")))


def word_piece() -> Text:
    words = Tokenizer(models.WordPiece({"[UNK]": 0, "go": 1, "##ing": 2, ".": 3, "we": 4}, unk_token="[UNK]"))
    words.decoder = decoders.WordPiece(cleanup=False)
    return tiny.text(words)


TEXTS = {"byte level": byte_level, "sentencepiece": lambda: tiny.text(tiny.sentencepiece()), "word piece": word_piece}


@pytest.fixture(scope="module", params=TEXTS)
def any_text(request) -> Text:
    return TEXTS[request.param]()


@pytest.fixture(scope="module")
def text() -> Text:
    return byte_level()


def read(stops: list[str], text: Text | NoText, tokens: list[int]) -> tuple[int | None, str]:
    """(after how many tokens a stop string was found, the text before it)."""
    reader = StopStrings(stops, text)
    count = next((n for n, token in enumerate(tokens, 1) if reader.push(token)), None)
    return count, reader.cut()


def slow(stops: list[str], text: Text, tokens: list[int]) -> int | None:
    """The same count, by decoding everything for each token."""
    return next((n for n in range(1, len(tokens) + 1) if any(s in text.decode(tokens[:n], special=True) for s in stops)), None)


def test_a_special_token_is_found_by_its_name(text):
    tokens = [*text.encode("ab"), END, *text.encode("cd"), USER, *text.encode("e")]
    assert read(["<|end|>"], text, tokens) == (3, "ab")
    assert read(["<|user|>"], text, tokens) == (6, "abcd")              # the special token in between does not show
    assert read(["<|end|>c"], text, tokens) == (4, "ab")
    assert read(["b<|end|>"], text, tokens) == (3, "a")
    assert read(["cd<|user|>e"], text, tokens) == (7, "ab")
    assert read(["|end|"], text, tokens) == (3, "ab")
    assert read(["bc"], text, tokens) == (None, "abcde")                # <|end|> stands between them
    assert read(["<|end|>"], text, text.encode("x<|")) == (None, "x<|")


def test_a_special_token_whose_name_a_decoder_would_change():
    text = tiny.text(tiny.sentencepiece())
    tokens = [*text.encode("ab"), 3, *text.encode("a")]
    assert text.piece(3) == "\u2581<PRE>" and read(["\u2581<PRE>"], text, tokens) == (2, "ab")
    assert read(["no"], text, tokens) == (None, "ab a")


def test_a_stop_string_over_several_tokens_and_inside_one(text):
    abc, ab, space_ab = 259, 258, 260
    tokens = [ab, abc, space_ab, ab]
    assert text.decode(tokens) == "ababc abab"
    for stop, count, before in (("ba", 2, "a"), ("babc a", 3, "a"), ("c", 2, "abab"), (" ", 3, "ababc"), ("abab", 2, ""), ("c abab", 4, "abab"),
                                ("ababc abab", 4, ""), ("bab", 2, "a"), ("abb", None, "ababc abab")):
        assert read([stop], text, tokens) == (count, before)
    assert read(["abc", "ba"], text, tokens) == (2, "a")                # both are there at once: the earlier one cuts


def test_a_character_split_over_tokens(text):
    sprout = text.encode("\N{SEEDLING}")
    assert len(sprout) == 4
    tokens = [*text.encode("x"), *sprout, *text.encode("y"), *sprout]
    assert read(["\N{SEEDLING}"], text, tokens) == (5, "x")
    assert read(["y\N{SEEDLING}"], text, tokens) == (10, "x\N{SEEDLING}")
    assert read(["x"], text, tokens) == (1, "")
    assert read(["\ufffd"], text, tokens) == (None, "x\N{SEEDLING}y\N{SEEDLING}")       # half a character is none
    day = [261, text.encode("日")[2]]
    assert text.piece(261) == "ax<0xE6><0x97>" and text.decode(day) == "ax日"
    assert read(["x"], text, day) == (1, "a")           # what stands before the half character counts at once
    assert read(["日"], text, day) == (2, "ax") and read(["x日"], text, day) == (2, "a")


def test_a_character_that_never_becomes_whole(text):
    start = text.encode("\N{SEEDLING}")[0]
    assert read(["z"], text, [start, *text.encode("abz")]) == (4, "\ufffdab")
    assert read(["<|end|>"], text, [*text.encode("a"), start, END]) == (3, "a\ufffd")
    assert read(["\ufffd"], text, [*text.encode("a"), start, END]) == (3, "a")
    many = [start] * 30
    assert read(["z"], text, [*many, *text.encode("z")]) == (len(many) + 1, "\ufffd" * len(many))


def test_sentencepiece_texts():
    text = tiny.text(tiny.sentencepiece())
    tokens = text.encode("ab é ab")
    assert text.decode(tokens) == "ab é ab" and len(tokens) == 5
    for stop, count, before in (("ab", 1, ""), (" ", 2, "ab"), ("é", 4, "ab "), ("é ab", 5, "ab "), (" ab", 5, "ab é"), ("b é a", 5, "a")):
        assert read([stop], text, tokens) == (count, before)
    assert read([" ab"], text, text.encode("ab")) == (None, "ab")       # the space in front of a text is none of it


def test_word_pieces():
    text = word_piece()
    assert text.decode([4, 1, 2, 3]) == "we going ."
    for stop, count, before in (("going", 3, "we "), (" go", 2, "we"), ("e going .", 4, "w"), ("goi", 3, "we ")):
        assert read([stop], text, [4, 1, 2, 3]) == (count, before)


def test_random_outputs_are_read_as_whole_decoding_reads_them(any_text):
    rng = random.Random(0)
    plain = [t for t in range(any_text.size) if t not in any_text.special and "<0x" not in any_text.piece(t)]
    words = [any_text.encode(w, special=False) for w in ("日本", "é", " ", "a", "ab ab", "\N{SEEDLING}")] if any_text.size > 10 else []
    found = 0
    for _ in range(300):
        tokens: list[int] = []
        while len(tokens) < 24:
            tokens += rng.choice(words) if words and rng.random() < 0.5 else [rng.choice(plain)]
        whole = any_text.decode(tokens)
        start = rng.randrange(len(whole))
        stops = [whole[start:start + rng.randint(1, 6)], "never"]
        count, before = read(stops, any_text, tokens)
        assert count == slow(stops, any_text, tokens) and before == whole[:whole.index(stops[0])]
        found += count < len(tokens)
        reader = StopStrings(["never"], any_text)
        assert not any(map(reader.push, tokens)) and reader.cut() == whole
    assert found > 50


class Counting(NoText):
    """Another text, which counts the tokens that it decodes."""

    def __init__(self, text: Text) -> None:
        self.text, self.special, self.count = text, text.special, 0

    def piece(self, token: int) -> str:
        return self.text.piece(token)

    def decode(self, tokens, special: bool = False) -> str:
        self.count += len(tokens)
        return self.text.decode(tokens, special)


@pytest.mark.parametrize("sample", ["ab ", "日本語", "\N{SEEDLING}", "<|end|>a"])
def test_the_work_grows_with_the_output_and_not_with_its_square(text, sample):
    tokens = (text.encode(sample) * 5000)[:5000]
    counting = Counting(text)
    reader = StopStrings(["never", "<|user|>"], counting)
    assert not any(map(reader.push, tokens))
    assert counting.count <= 5000 * 8
    before = counting.count
    assert reader.push(USER) and len(reader.cut()) >= 1000 and counting.count <= before + 8


@pytest.mark.parametrize(("character", "length"), [("\N{SEEDLING}", 1), ("\N{SEEDLING}", 2), ("\N{SEEDLING}", 3), ("\ufffd", 3)])
def test_broken_bytes_without_end_are_no_exception(text, character, length):
    tokens = text.encode(character)[:length] * 1000
    counting = Counting(text)
    assert not any(map(StopStrings(["never"], counting).push, tokens))
    assert counting.count <= len(tokens) * 32


def test_without_stop_strings_nothing_is_decoded(text):
    counting = Counting(text)
    assert not any(map(StopStrings([], counting).push, range(250))) and counting.count == 0


def test_a_target_without_tokenizer():
    assert read(["<7>"], NoText(), [5, 7, 9]) == (2, "<5>") and read(["7><9"], NoText(), [5, 7, 9]) == (3, "<5><")


def test_a_run_stops_at_a_special_token():
    """--stop "<|end|>" where the token is no EOS of the checkpoint."""
    to = tiny.target(vocab_size=258)
    text = tiny.text(tiny.tokenizer())
    plain = tiny.greedy(to.model, tiny.PROMPT, 12)
    at = next(i for i in range(2, 12) if plain[i] not in plain[:i])
    to.model.embed.data[[END, plain[at]]] = to.model.embed.data[[plain[at], END]]
    to.model.head.weight.data[[END, plain[at]]] = to.model.head.weight.data[[plain[at], END]]
    want = [END if t == plain[at] else t for t in plain[:at + 1]]
    run = Decoding(to, Proposer(), [END if t == plain[at] else t for t in tiny.PROMPT], Options(12, stop=("<|end|>",)), text)
    emitted = tiny.emitted(list(run))
    assert emitted == want and run.stop == "stop_string" and run.output_text == text.decode(want[:-1])
