"""A run in the terminal: text coloured by origin, hostile characters made visible, one line of totals."""
from __future__ import annotations

import os
from typing import Any, TextIO

from core.trace import Round, Totals

STYLE = {"accepted": "4;34", "recovered": "1;33", "bonus": "1;32", "plain": "0", "rejected": "9;31", "not_reached": "2;9", "forced": "3;35"}
LEGEND = (("accepted", "accepted"), ("recovered", "resampled"), ("bonus", "bonus"), ("rejected", "rejected draft"), ("not_reached", "never tested"))
BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}


def visible(text: str, newlines: bool = True) -> str:
    """Control characters, bidi overrides and lone surrogates as glyphs: model text must not drive a terminal."""
    out = []
    for c in text:
        code = ord(c)
        if c == "\n" and newlines:
            out.append(c)
        elif c == "\n":
            out.append("\u23ce")
        elif code < 0x20:
            out.append(chr(0x2400 + code))
        elif code == 0x7F:
            out.append("\u2421")
        elif 0x80 <= code < 0xA0 or code in BIDI or 0xD800 <= code <= 0xDFFF or code in (0x2028, 0x2029):
            out.append(f"\u27e8U+{code:04X}\u27e9")
        else:
            out.append(c)
    return "".join(out)


def wants_colour(stream: TextIO) -> bool:
    """NO_COLOR (no-color.org) and pipes mean no colour; FORCE_COLOR means colour all the same."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


FORCED = ("forced", "forced by the grammar")


class Printer:
    """Writes a run round by round, coloured. Without colour the decoded text is written once at the end, so that a pipe gets the answer
    and nothing else: whole characters, no special tokens, nothing behind a stop string."""

    def __init__(self, stream: TextIO, colour: bool) -> None:
        self.stream, self.colour, self.legend = stream, colour, LEGEND

    def round(self, round_: Round) -> None:
        if not self.colour:
            return
        if any(e.forced for e in round_.emitted) and FORCED not in self.legend:
            self.legend = (*LEGEND, FORCED)
        for e in round_.emitted:
            if e.kind == "accepted":
                self._write(e.text, "forced" if e.forced else e.kind)
        for d in round_.drafted:
            if d.verdict != "accepted":
                self._write(visible(d.text, newlines=False), d.verdict)
        for e in [e for e in round_.emitted if e.kind != "accepted"]:
            self._write(e.text, "forced" if e.forced else e.kind)
        self.stream.flush()

    def _write(self, text: str, kind: str) -> None:
        shown = visible(text)
        if STYLE[kind] != "0":
            shown = "\n".join(f"\033[{STYLE[kind]}m{part}\033[0m" if part else "" for part in shown.split("\n"))
        self.stream.write(shown)

    def end(self, text: str) -> None:
        """text: the run's decoded output."""
        if self.colour:
            self.stream.write("\n\n" + "  ".join(f"\033[{STYLE[k]}m{label}\033[0m" for k, label in self.legend))
        else:
            self.stream.write(visible(text))
        self.stream.write("\n")
        self.stream.flush()


def summary(totals: Totals, plain: dict[str, Any] | None, run: dict[str, Any] | None = None) -> str:
    """One line; every rate names its denominator. run: the trace's facts, for why nothing was drafted."""
    parts = [f"{totals.new_tokens} tokens in {totals.rounds} target passes"]
    if totals.tokens_per_round is not None:
        parts.append(f"{totals.tokens_per_round:.2f} tokens per drafting round")
    if totals.forced:
        parts.append(f"{totals.forced} tokens forced by the grammar")
    if totals.tested_rate is not None:
        parts.append(f"{totals.tested_rate:.0%} of tested drafts accepted ({totals.acceptance_rate:.0%} of all drafted)")
    if totals.tokens_per_s is not None:
        parts.append(f"first token {totals.ttft_s:.2f} s, {totals.tokens_per_s:.1f} tokens/s")
    spent = totals.ttft_s + totals.decode_s
    if plain and spent and plain.get("tokens_per_s"):
        ratio = (plain["ttft_s"] + plain["decode_s"]) / spent
        parts.append(f"plain {plain['tokens_per_s']:.1f} tokens/s: {ratio:.2f}x" + ("" if ratio >= 1 else " (slower here)"))
    if run and run.get("expected") and not totals.drafted:
        parts.append("nothing drafted: no draft was expected to gain here")
    if totals.peak_memory_bytes:
        parts.append(f"peak {totals.peak_memory_bytes / 2 ** 20:.0f} MiB")
    return "; ".join(parts) + f"; stopped by {totals.stop}."


def comparison(result: dict[str, Any]) -> str:
    """The `compare` record as a small table."""
    plain = result["plain"]
    lines = [f"{'method':<12} {'tokens/s':>9} {'vs plain':>9}  {'spread':<12} {'tokens/round':>12} {'of tested':>9}  output",
             f"{'plain':<12} {plain['tokens_per_s']:>9.1f} {'1.00x':>9}"]
    for r in result["results"]:
        t = r["totals"]
        per_round = f"{t['tokens_per_round']:.2f}" if t["tokens_per_round"] else "-"
        tested = f"{t['tested_rate']:.0%}" if t["tested_rate"] is not None else "-"
        spread = "{:.2f}-{:.2f}".format(*r["spread"])
        same = {True: "identical", False: "differs", None: "(sampled)"}[r["identical"]]
        lines.append(f"{r['method']:<12} {t['tokens_per_s']:>9.1f} {r['ratio']:>8.2f}x  {spread:<12} {per_round:>12} {tested:>9}  {same}")
        gap = r["first_difference"]
        if gap and "top2_gap" in gap:
            what, apart = ("the two best of the race", gap["race_gap"]) if "race_gap" in gap else ("the target's two best logits", gap["top2_gap"])
            lines.append(f"  first difference at token {gap['position']}: plain {visible(gap['plain']['text'], False)!r}, here "
                         f"{visible(gap['other']['text'], False)!r}; {what} lie {apart:.3g} apart there")
    return "\n".join(lines)
