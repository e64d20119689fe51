"""`specscope tune early-exit`: no paper gives a rule for which layers a draft may skip, so measure it on this target and machine."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from core import stats
from core.load import Pair
from core.loop import Decoding, Options
from core.propose.base import Proposer
from core.propose.early_exit import EarlyExit
from core.trace import Totals

Report = Callable[[str], None]


def candidates(layers: int) -> list[dict[str, str]]:
    """Exits from half of the layers up, and blocks of 1, 2, 4, ... skipped layers around the middle and behind it."""
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


def tune(pair: Pair, prompts: Sequence[str], new_tokens: int, draft_len: int, report: Report = lambda m: None) -> dict[str, Any]:
    """Greedy runs of every candidate and of plain decoding on the same work; rows sorted by measured ratio, best first.

    agreement: accepted / tested of the first drafted position, i.e. how often the shortened target names the target's own token.
    """
    options = Options(new_tokens, draft_len, ignore_eos=True, record=False)
    ids = [pair.text.chat(p, None) for p in prompts]

    def total(make: Callable[[], Proposer]) -> tuple[float, list[Totals]]:
        runs = []
        for prompt in ids:
            gc.collect()
            decoding = Decoding(pair.target, make(), prompt, options, pair.text)
            runs.append(stats.totals(list(decoding), "", "length", None))
        return sum(t.ttft_s + t.decode_s for t in runs), runs

    total(Proposer)                                                      # warm-up
    rows = []
    for n, kwargs in enumerate(todo := candidates(pair.target.model.config.num_layers), 1):
        report(f"{n} of {len(todo)}: {_label(kwargs)}")
        plain_s, _ = total(Proposer)                                     # again for each, so that the machine's mood hits both
        seconds, runs = total(lambda kwargs=kwargs: EarlyExit(pair.target, **kwargs))
        tested = sum(t.tested for t in runs)
        rows.append({"draft": _label(kwargs), **kwargs, "ratio": plain_s / seconds, "agreement": _mean([t.acceptance_by_position[0] for t in runs]),
                     "tested_rate": sum(t.accepted for t in runs) / tested if tested else None,
                     "tokens_per_round": _mean([t.tokens_per_round for t in runs])})
    rows.sort(key=lambda r: -r["ratio"])
    return {"version": 1, "target": pair.target_name, "draft_len": draft_len, "new_tokens": new_tokens, "prompts": len(prompts), "rows": rows}


def table(result: dict[str, Any]) -> str:
    lines = [f"{'draft':<22} {'vs plain':>9} {'first token agrees':>19} {'of tested':>10} {'tokens/round':>13}"]
    lines += [f"{r['draft']:<22} {r['ratio']:>8.2f}x {r['agreement']:>18.0%} {r['tested_rate']:>10.0%} {r['tokens_per_round']:>13.2f}"
              for r in result["rows"]]
    best = result["rows"][0]
    flag = f"--exit-layer {best['exit_layer']}" if "exit_layer" in best else f"--skip-layers {best['skip_layers']}"
    lines.append(f"Best here: {flag} at {best['ratio']:.2f}x." if best["ratio"] > 1 else
                 f"Self-speculation does not pay for this target here: the best, {flag}, runs at {best['ratio']:.2f}x of plain decoding.")
    return "\n".join(lines)


def _label(kwargs: dict[str, str]) -> str:
    return f"exit after {kwargs['exit_layer']}" if "exit_layer" in kwargs else f"skip {kwargs['skip_layers']}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
