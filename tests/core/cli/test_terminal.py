"""Model text cannot drive a terminal; colour only where it is wanted; a pipe gets the answer and nothing else."""
from __future__ import annotations

import io
import re

import pytest

from core.cli import terminal
from core.cli.terminal import Printer, visible
from core.measuring import stats
from core.trace import Drafted, Emitted, Round, Totals
from tests.core.measuring.test_costs_stats import round_

DANGEROUS = [*range(0, 9), *range(11, 32), 0x7F, *range(0x80, 0xA0), 0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A),
             0x2028, 0x2029, 0xD800, 0xDFFF]


@pytest.mark.parametrize("code", DANGEROUS, ids=hex)
def test_no_control_or_bidi_character_gets_through(code):
    shown = visible(f"a{chr(code)}b")
    assert chr(code) not in shown and shown.startswith("a") and shown.endswith("b") and len(shown) > 2
    shown.encode("utf-8")


@pytest.mark.parametrize("text", ["plain", "\N{SEEDLING}", "שלום", "日本語", "</s>${x}{{x}}\\", "e\u0301", ""])
def test_other_text_stays_as_it_is(text):
    assert visible(text) == text


def test_newlines_stay_or_become_a_glyph():
    assert visible("a\nb") == "a\nb" and visible("a\nb", newlines=False) == "a\u23ceb"


class Stream(io.StringIO):
    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(("tty", "env", "want"), [
    (True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"NO_COLOR": ""}, True), (True, {"TERM": "dumb"}, False),
    (False, {"FORCE_COLOR": "1"}, True), (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)], ids=str)
def test_when_there_is_colour(tty, env, want, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert terminal.wants_colour(Stream(tty)) is want


ROUNDS = [Round(0, 0, 0, emitted=[Emitted(1, "Once\n", "plain")]),
          Round(1, 1, 3, [Drafted(2, " upon", -1, .5, .5, .1, 1.0, "accepted"), Drafted(3, " \x1b[2Jbad\n", 0, .1, .5, .9, .2, "rejected"),
                          Drafted(4, " never", 1, .5, .5, .1, 1.0, "not_reached")],
                [Emitted(2, " upon", "accepted"), Emitted(5, " a\x07", "recovered")])]


def test_with_colour_every_origin_is_told_apart():
    stream = Stream(True)
    printer = Printer(stream, True)
    for r in ROUNDS:
        printer.round(r)
    text = stream.getvalue()
    styles = {kind: text.index(f"\x1b[{terminal.STYLE[kind]}m") for kind in ("accepted", "rejected", "not_reached", "recovered")}
    assert list(styles) == sorted(styles, key=styles.get), "accepted, then what was rejected or never tested, then the target's token"
    assert "9" in terminal.STYLE["rejected"].split(";"), "struck through"
    assert len({*terminal.STYLE.values()}) == len(terminal.STYLE)
    left = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "\x1b" not in left and "\x07" not in left
    assert "Once\n upon" in left and "never" in left


def test_the_summary_names_every_denominator():
    rounds = [round_(0, 0, 0.5), round_(0, 3, 1.0), round_(3, 3, 2.0)]
    line = terminal.summary(stats.totals(rounds, "", "length", 1 << 20), {"ttft_s": 0.5, "decode_s": 2.5, "tokens_per_s": 2.0})
    for part in ("6 tokens", "3 target passes", "2.50 tokens per", "75% of tested", "50% of all drafted", "1.50x", "1 MiB", "length"):
        assert part in line
    assert "\n" not in line


@pytest.mark.parametrize("totals", [Totals(), Totals(new_tokens=3, rounds=3), stats.totals([round_(0, 0)], "", "eos", None)],
                         ids=["none", "timeless", "one"])
@pytest.mark.parametrize("plain", [None, {}, {"ttft_s": 0.0, "decode_s": 0.0, "tokens_per_s": None, "elapsed_s": []}], ids=["no", "empty", "zero"])
def test_the_summary_of_an_incomplete_record(totals, plain):
    assert terminal.summary(totals, plain).endswith(f"stopped by {totals.stop}.")


def test_the_totals_say_that_nothing_was_to_be_gained():
    idle = stats.totals([], "", "length", None)
    assert "no draft was expected to gain" in terminal.summary(idle, None, {"expected": [{"levels": 0}]})
    assert "no draft" not in terminal.summary(idle, None, {}) and "no draft" not in terminal.summary(idle, None)
