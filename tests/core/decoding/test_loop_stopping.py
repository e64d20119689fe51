"""Where a run ends: the limit, a full context, EOS and stop strings anywhere in a draft."""
from __future__ import annotations

import pytest

from core.measuring import stats
from core.methods.base import Proposer
from core.methods.draft_model import DraftModel
from tests.core import check, tiny
from tests.core.tiny import DRAFTS, PROMPT, decode, emitted

pytestmark = pytest.mark.usefixtures("runner")


@pytest.mark.parametrize("max_new", [0, 1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ["perfect", "wrong", "near"])
def test_exactly_max_new_tokens(name, max_new):
    """With a draft length of 4: a last draft that runs over the limit must be cut."""
    to = tiny.target()
    run, rounds = decode(to, DRAFTS[name](to.model), max_new_tokens=max_new)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, max_new) and run.stop == "length"


@pytest.mark.parametrize("spare", [-3, 0, 1, 50])
@pytest.mark.parametrize("name", ["perfect", "scripted", "wrong"])
def test_a_full_context_ends_the_run(name, spare):
    """prompt + max_new_tokens below, equal to and beyond the context: no position past its end is used."""
    to = tiny.target(max_positions=24)
    run, rounds = decode(to, DRAFTS[name](to.model), max_new_tokens=19 + spare)
    check.run(run, rounds, len(PROMPT))
    assert run.stop == "length" and emitted(rounds) == tiny.greedy(to.model, PROMPT, min(19, 19 + spare))


def test_a_draft_with_a_shorter_context_stops_drafting_there():
    to = tiny.target()
    run, rounds = decode(to, DraftModel(tiny.decoder(0, max_positions=16)), max_new_tokens=30)
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == tiny.greedy(to.model, PROMPT, 30)
    assert all(r.drafted for r in rounds[1:3]) and not rounds[-1].drafted


def test_a_prompt_longer_than_one_prefill_pass():
    to = tiny.target(max_positions=1400)
    prompt = [(7 * i * i + i) % 20 for i in range(1100)]
    run, rounds = decode(to, DraftModel(to.model), prompt, max_new_tokens=8)
    check.run(run, rounds, len(prompt))
    assert emitted(rounds) == tiny.greedy(to.model, prompt, 8)
    assert all(d.verdict == "accepted" for r in rounds for d in r.drafted)


def cut_at(ids: list[int], eos: int) -> list[int]:
    return ids[:ids.index(eos) + 1] if eos in ids else ids


@pytest.mark.parametrize("name", ["perfect", "scripted", "wrong", "near"])
@pytest.mark.parametrize("at", range(10))
def test_eos_at_every_position_of_a_draft(name, at):
    """Each of the first ten greedy tokens is declared to be EOS."""
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    eos = plain[at]
    to = tiny.target(eos=(eos,))
    run, rounds = decode(to, DRAFTS[name](to.model))
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == cut_at(plain, eos) and run.stop == "eos"
    assert all(d.id != eos or d.verdict != "accepted" for r in rounds for d in r.drafted[:-1]), "nothing is accepted after EOS"


def test_tokens_drafted_after_eos_are_in_no_count():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    at = next(i for i in range(2, 5) if plain[i] not in plain[:i])
    to = tiny.target(eos=(plain[at],))
    run, rounds = decode(to, tiny.perfect(to.model), draft_len=7)
    assert [d.id for d in rounds[1].drafted] == plain[1:at + 1]
    totals = stats.totals(rounds, "", run.stop, None)
    assert (totals.drafted, totals.accepted, totals.tested, totals.new_tokens) == (at, at, at, at + 1)
    assert totals.acceptance_by_position == [1.0] * at


def test_a_rejected_eos_does_not_end_the_run():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    eos = next(i for i in range(20) if i not in plain)
    run, rounds = decode(tiny.target(eos=(eos,)), tiny.Scripted(lambda tokens: eos))
    check.run(run, rounds, len(PROMPT))
    assert emitted(rounds) == plain and run.stop == "length"


def test_ignore_eos_goes_on():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    run, rounds = decode(tiny.target(eos=tuple(range(20))), Proposer(), ignore_eos=True)
    assert emitted(rounds) == plain and run.stop == "length"


def test_several_end_tokens():
    plain = tiny.greedy(tiny.decoder(), PROMPT, 16)
    first = min(plain.index(plain[4]), plain.index(plain[9]))
    run, rounds = decode(tiny.target(eos=(plain[9], plain[4])), DraftModel(tiny.decoder()))
    assert emitted(rounds) == plain[:first + 1] and run.stop == "eos"


class Letters:
    """A fake tokenizer: a token is a letter, or the bytes given for its id."""

    size = 20
    special = frozenset()

    def __init__(self, pieces: dict[int, bytes]) -> None:
        self.pieces = pieces

    def bytes(self, token: int) -> bytes:
        return self.pieces.get(token, bytes([97 + token]))

    def piece(self, token: int) -> str:
        return self.bytes(token).decode("utf-8", "backslashreplace")

    def decode(self, tokens, special=False) -> str:
        return b"".join(map(self.bytes, tokens)).decode("utf-8", "replace")


@pytest.mark.parametrize("name", ["perfect", "scripted", "near", "wrong"])
@pytest.mark.parametrize(("first", "length"), [(0, 1), (0, 2), (1, 2), (2, 4), (4, 3), (5, 2), (3, 9)])
def test_stop_strings_across_rounds(name, first, length):
    """In accepted tokens, over accepted and bonus tokens, over several rounds: exactly the tokens up to its end are emitted."""
    to, text = tiny.target(), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    stop = text.decode(plain[first:first + length])
    whole = text.decode(plain)
    end = whole.index(stop) + len(stop)
    run, rounds = decode(to, DRAFTS[name](to.model), text=text, stop=("never", stop))
    check.run(run, rounds, len(PROMPT))
    assert run.stop == "stop_string" and emitted(rounds) == plain[:end]
    assert run.output_text == whole[:whole.index(stop)]


def test_the_earliest_stop_string_cuts_the_text():
    to, text = tiny.target(), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    letters = text.decode(plain)
    run, _ = decode(to, DraftModel(to.model), text=text, stop=(letters[3], letters[2:4]))
    assert run.output_text == letters[:min(letters.index(letters[3]), 2)]


def test_a_character_split_over_two_tokens():
    """For some draft length its halves are in two rounds; the text is whole all the same, and a stop string in it is found."""
    to = tiny.target()
    plain = tiny.greedy(to.model, PROMPT, 16)
    at = next(i for i in range(3, 15) if plain[i] != plain[i + 1] and plain.index(plain[i]) == i and plain[i + 1] not in plain[:i + 1])
    emoji = "\N{SEEDLING}".encode()
    text = Letters({plain[at]: emoji[:2], plain[at + 1]: emoji[2:]})
    for draft_len in (1, 2, 3, 4, 7):
        run, rounds = decode(to, DraftModel(to.model), text=text, stop=("\N{SEEDLING}",), draft_len=draft_len)
        check.run(run, rounds, len(PROMPT))
        assert run.stop == "stop_string" and len(emitted(rounds)) == at + 2
        assert "\ufffd" not in run.output_text and run.output_text == text.decode(plain[:at])


def test_stop_strings_are_heeded_while_eos_is_ignored():
    to, text = tiny.target(eos=tuple(range(20))), Letters({})
    plain = tiny.greedy(to.model, PROMPT, 16)
    run, rounds = decode(to, Proposer(), text=text, stop=(text.decode(plain[3:5]),), ignore_eos=True)
    assert run.stop == "stop_string" and len(emitted(rounds)) <= 5
