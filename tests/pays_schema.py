"""README's figures for structured output: `python -m tests.pays_schema [--json FILE]`, by default settings, against constrained plain decoding.

The two examples with a schema and ten prompts of other kinds; each method and plain decoding in turns, medians of three, up to EOS.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from core.checkpoints import load
from core.decoding.loop import Options
from core.grammar.constraint import Constraint
from core.measuring import costs, stats
from core.methods import registry
from core.runs import prompts
from core.runs.compare import Work
from core.runs.runner import Request

METHODS = ("lookup", "suffix", "lookup+draft", "draft", "lookup+eagle", "eagle", "medusa")
TEXT, NUMBER, YES = {"type": "string", "maxLength": 40}, {"type": "integer", "minimum": 0, "maximum": 9999}, {"type": "boolean"}
OWN = (
    ("Describe the book The Old Man and the Sea as a record.", {"title": TEXT, "author": TEXT, "year": NUMBER, "language": TEXT, "in_print": YES}),
    ("Turn on the light in the kitchen at half brightness.",
     {"device": {"enum": ["light", "heater", "door"]}, "room": TEXT, "on": YES, "percent": NUMBER}),
    ("Is this review good or bad? The soup was cold and the waiter rude.",
     {"sentiment": {"enum": ["positive", "negative"]}, "reason": TEXT, "stars": NUMBER}),
    ("Send 40 euros to Maria Lopez for the concert tickets.",
     {"recipient": TEXT, "amount": NUMBER, "currency": {"enum": ["EUR", "USD"]}, "purpose": TEXT}),
    ("What is the weather in Oslo tomorrow? Call the tool.",
     {"tool": {"const": "get_weather"}, "city": TEXT, "day": {"enum": ["today", "tomorrow"]}}),
    ("Give the facts of France.", {"country": TEXT, "capital": TEXT, "continent": TEXT, "currency": TEXT, "member_of_the_eu": YES}),
    ("File this bug: the page crashes when I upload a large picture.",
     {"component": TEXT, "severity": {"enum": ["low", "high"]}, "summary": TEXT, "fixed": YES}),
    ("Book two seats to Vienna on Friday.",
     {"from_city": TEXT, "to_city": TEXT, "day_of_travel": TEXT, "number_of_seats": NUMBER, "first_class": YES}),
    ("A recipe for pancakes.", {"name": TEXT, "ingredients": {"type": "array", "items": TEXT, "minItems": 3, "maxItems": 4}, "minutes": NUMBER}),
    ("Three colours with their codes.", {"colours": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "object", "properties": {
        "name": TEXT, "code": {"type": "string", "pattern": "^#[0-9a-f]{6}$"}}, "required": ["name", "code"], "additionalProperties": False}}}))


def asked() -> dict[str, tuple[str, Constraint]]:
    own = {f"own {i}": (text, Constraint.of("json_schema", {"type": "object", "properties": fields, "required": list(fields),
                                                            "additionalProperties": False})) for i, (text, fields) in enumerate(OWN, 1)}
    return prompts.structured() | own


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    args = parser.parse_args()
    methods = args.methods.split(",")
    pair = load.load()
    costs.choose_threads(pair.target)
    ratios: dict[str, dict[str, float]] = {}
    differ, speeds, tokens, forced, measured = [], [], 0, 0, None
    for name, (text, grammar) in asked().items():
        work = Work(pair, Request(text, options=Options(args.tokens, "auto", grammar=grammar)), [registry.get(m) for m in ("plain", *methods)])
        measured = measured or work.costs
        work.costs = {m: {**measured[m], **({"acceptance": work.costs[m]["acceptance"]} if m != "plain" else {})} for m in work.costs}
        seconds: dict[str, list[float]] = {m: [] for m in work.proposers}
        ids: dict[str, list[int]] = {}
        for m in work.proposers:
            work.warm_up(m)
        for _ in range(args.repeats):
            for m in work.proposers:
                out = work.decode(m)
                total = stats.totals(out.rounds, out.text, "length", None)
                seconds[m].append(total.ttft_s + total.decode_s)
                ids[m] = out.ids
                if m == "plain":
                    json.loads(out.text)            # ended by itself, and valid
        middle = {m: statistics.median(s) for m, s in seconds.items()}
        speeds.append(len(ids["plain"]) / middle["plain"])
        tokens, forced = tokens + total.new_tokens, forced + total.forced
        ratios[name] = {m: middle["plain"] / middle[m] for m in methods}
        differ += [f"{name} {m}" for m in methods if ids[m] != ids["plain"]]
        print(f"{name:8}", "  ".join(f"{m} {r:.2f}x" for m, r in ratios[name].items()), out.text, file=sys.stderr, flush=True)
    result = {"arithmetic": pair.target.arithmetic, "row_exact": pair.target.row_exact, "plain_tokens_per_s": statistics.median(speeds),
              "forced_share": forced / tokens, "mean": {m: statistics.mean(r[m] for r in ratios.values()) for m in methods},
              "lowest": {m: min(r[m] for r in ratios.values()) for m in methods}, "texts_differ": differ}
    print(json.dumps(result, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result | {"ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
