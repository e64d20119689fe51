"""`specscope check machine`: the arithmetic that this machine runs fastest, measured anew, and what each method would draft in it."""
from __future__ import annotations

from typing import Any

from core.checkpoints.load import Pair
from core.decoding.draft_length import Auto, as_record
from core.measuring import costs
from core.methods import registry


def check(pair: Pair) -> dict[str, Any]:
    """The pair's arithmetic with all that was tried, and by method the shape of its first draft, with what `auto` expects of every shape."""
    methods: dict[str, Any] = {}
    passes = None
    for method in registry.available(pair):
        if not method.drafts:
            continue
        proposer = method.proposer(pair)
        measured = costs.measure(pair.target, proposer, passes)
        passes = measured["verify_s"]
        auto = Auto(measured | {"acceptance": (pair.acceptance(method.name, greedy=True) or {}).get("")}, proposer.adaptive)
        none = next(e for e in auto.at_start if not e.shape.levels)
        chosen = next(e for e in auto.at_start if e.shape == auto.now)
        methods[method.name] = {"levels": chosen.shape.levels, "nodes": chosen.shape.nodes, "gain": chosen.rate / none.rate,
                                "expected": as_record(auto.at_start)}
    return {"target": pair.target_name, "arithmetic": pair.notes.get("arithmetic", {"name": pair.target.arithmetic, "tried": {}}),
            "row_exact": pair.target.row_exact, "verify_s": passes or {}, "methods": methods}


def table(result: dict[str, Any]) -> str:
    """The result of `check` as text."""
    chosen = result["arithmetic"]
    lines = [f"{result['target']}: {chosen['name']}" + (f", {chosen['why']}" if chosen.get("why") else "")]
    for name, tried in chosen.get("tried", {}).items():
        if "pass_s" in tried:
            passes = "  ".join(f"{k}: {1e3 * s:.1f}" for k, s in tried["pass_s"].items())
            lines.append(f"  {name:9} ms for a pass over k tokens  {passes}   {tried['tokens_per_s']:.0f} tokens/s expected"
                         + (", row-exact" if tried["row_exact"] else ""))
        for word in ("refused", "skipped"):
            if word in tried:
                lines.append(f"  {name:9} {word}: {tried[word]}")
    lines.append("With a row-exact arithmetic every method writes plain's greedy text, bit for bit." if result["row_exact"] else
                 "Not row-exact: a greedy text may part from plain's where two tokens are nearly equally likely.")
    for name, m in result["methods"].items():
        draft = "no draft: nothing to gain" if not m["levels"] else f"a tree of {m['nodes']}, {m['levels']} deep" if m["nodes"] > m["levels"] \
            else f"a chain of {m['levels']}"
        lines.append(f"  {name:13} {draft}" + (f", {m['gain']:.2f}x expected" if m["levels"] else ""))
    return "\n".join(lines)
