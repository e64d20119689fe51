"""`specscope tune METHOD`: finds a method's best settings for a target on this machine by running candidates and measuring them."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from core.checkpoints.load import Pair
from core.decoding.loop import Decoding, Options
from core.measuring import stats
from core.methods import registry
from core.methods.base import Proposer
from core.sampling.probs import Sampling
from core.trace import Totals

Candidate = tuple[dict[str, Any], int]      # the method's settings, and the draft length of a chain
LENGTHS = (1, 2, 3, 4, 6)


def candidates(method: str, layers: int) -> list[Candidate]:
    """The candidates for a method, on a target with that many layers."""
    if method == "early-exit":
        return [(c, 3) for c in layer_sets(layers)]
    chains: list[Candidate] = [({}, k) for k in LENGTHS]
    trees = {"draft": ("2x1", "2x2", "2x1x1", "3x1x1"), "eagle": ("3", "3x1", "4x1x1"), "medusa": ("3", "3x1")}.get(method, ())
    out = [({"tree": "chain"} if trees else {}, k) for _, k in chains] + [({"tree": shape}, 4) for shape in trees]
    if method == "eagle":
        out += [({"tree": "auto", "tree_tokens": n, "tree_depth": d}, 4) for n, d in ((4, 3), (7, 3), (7, 4))]
    if method == "medusa":
        out += [({"tree": "auto", "tree_tokens": n}, 4) for n in (3, 5, 7, 12)]
    return out


def layer_sets(layers: int) -> list[dict[str, str]]:
    """Early exits after half of the layers or more, and blocks of 1, 2, 4, ... skipped layers around 50 % and 70 % of the depth."""
    exits = sorted({*(round(layers * f) for f in (0.5, 0.6, 0.7, 0.8, 0.9)), layers - 1} - {0, layers})
    out = [{"exit_layer": str(e)} for e in exits]
    size = 1
    while size <= layers // 3:
        for middle in (0.5, 0.7):
            first = min(layers - size - 1, round(layers * middle) - size // 2)
            if first > 0:
                out.append({"skip_layers": f"{first}-{first + size - 1}" if size > 1 else str(first)})
        size *= 2
    return out


def tune(pair: Pair, method: str, prompts: Sequence[str], new_tokens: int, temperature: float = 0.0,
         report: Callable[[str], None] = lambda m: None) -> dict[str, Any]:
    """Every candidate against plain decoding of the same work, interleaved; rows sorted by ratio, best first.

    agreement: acceptance rate of the first position. Raises UserError for an unknown method or a draft that the pair does not have.
    """
    chosen = registry.get(method)
    ids = [pair.text.chat(p, None) for p in prompts]

    def total(make: Callable[[], Proposer], draft_len: int) -> tuple[float, list[Totals]]:
        runs = []
        options = Options(new_tokens, draft_len, Sampling(temperature), ignore_eos=True, record=False)
        for prompt in ids:
            gc.collect()
            runs.append(stats.totals(list(Decoding(pair.target, make(), prompt, options, pair.text)), "", "length", None))
        return sum(t.ttft_s + t.decode_s for t in runs), runs

    total(Proposer, 0)                                                   # warm-up
    rows = []
    model = getattr(pair.target, "model", None)
    todo = candidates(method, getattr(getattr(model, "config", None), "num_layers", 0))
    for n, (settings, k) in enumerate(todo, 1):
        report(f"{n} of {len(todo)}: {flags(settings, k)}")
        plain_s, _ = total(Proposer, 0)                                  # again for each candidate, so that a busy moment of the machine affects both
        seconds, runs = total(lambda settings=settings: chosen.proposer(pair, settings), k)
        drafting = [t for t in runs if t.tokens_per_round]
        rows.append({"flags": flags(settings, k), **settings, "draft_len": k, "ratio": plain_s / seconds,
                     "agreement": _mean([t.acceptance_by_position[0] for t in drafting]),
                     "tokens_per_round": _mean([t.tokens_per_round for t in drafting])})
    rows.sort(key=lambda r: -r["ratio"])
    return {"version": 1, "target": pair.target_name, "method": method, "new_tokens": new_tokens, "prompts": len(prompts),
            "temperature": temperature, "rows": rows}


def flags(settings: dict[str, Any], draft_len: int) -> str:
    """The command-line options of a candidate. A tree has its own depth, so --draft-len is only for chains."""
    parts = [f"--{name.replace('_', '-')} {value}" for name, value in settings.items()]
    if settings.get("tree", "chain") == "chain":
        parts.append(f"--draft-len {draft_len}")
    return " ".join(parts)


def table(result: dict[str, Any]) -> str:
    """The rows as text, best first, and a sentence about the best one."""
    width = max(len(r["flags"]) for r in result["rows"])
    lines = [f"{'--method ' + result['method']:<{width}} {'vs plain':>9} {'first accepted':>17} {'tokens/round':>13}"]
    lines += [f"{r['flags']:<{width}} {r['ratio']:>8.2f}x {r['agreement']:>16.0%} {r['tokens_per_round']:>13.2f}" for r in result["rows"]]
    best = result["rows"][0]
    lines.append(f"Best here: {best['flags']} at {best['ratio']:.2f}x." if best["ratio"] > 1 else
                 f"It does not pay for this target here: the best, {best['flags']}, runs at {best['ratio']:.2f}x of plain decoding.")
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
