"""Which chain or tree pays for a draft head on this target and machine: run the candidates, and for Medusa measure its guesses first."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from core import methods, stats
from core.load import Pair
from core.loop import Decoding, Options
from core.probs import Sampling
from core.propose.base import Proposer
from core.propose.medusa import Medusa, rank_accuracy

Report = Callable[[str], None]
RANKS = 8
CANDIDATES: dict[str, list[tuple[dict[str, Any], int]]] = {        # settings, draft length (a chain's)
    "eagle": [*(({"tree": "chain"}, k) for k in (1, 2, 3, 4, 6)),
              *(({"tree": "auto", "tree_tokens": n, "tree_depth": d, "tree_top_k": 3}, 4) for n, d in ((4, 3), (7, 3), (7, 4), (12, 4))),
              *(({"tree": shape}, 4) for shape in ("3", "3x1", "4x1x1"))],
    "medusa": [*(({"tree": "chain"}, k) for k in (1, 2, 3)), *(({"tree": "auto", "tree_tokens": n}, 4) for n in (3, 5, 7, 12, 20))]}


def accuracy(pair: Pair, prompts: Sequence[str], new_tokens: int) -> list[list[float]]:
    """[head][rank]: shares of right guesses of the pair's Medusa heads on the target's own greedy answers. For `head_accuracy` in
    the head's config.json, from which `--tree auto` is made."""
    heads = Medusa.build(pair).heads
    tap, tables, counts = heads.target[0].config.num_layers, [], []
    for prompt in prompts:
        run = Decoding(pair.target, Proposer(), pair.text.chat(prompt, None), Options(new_tokens, record=False), pair.text)
        for _ in run:
            pass
        with torch.inference_mode():
            ids = torch.tensor(run.tokens, device=pair.target.device)
            _, states = pair.target.verify(ids, pair.target.new_cache(len(ids)), 1, None, (tap,))
        written = run.tokens[run.prompt_len - 1:]
        if len(written) > heads.count + 1:
            tables.append(rank_accuracy(heads, states[tap][run.prompt_len - 1:], written, RANKS))
            counts.append(len(written) - heads.count - 1)
    mean = sum(t * n for t, n in zip(tables, counts)) / sum(counts)
    return [[round(float(x), 4) for x in row] for row in mean]


def tune(pair: Pair, method: str, prompts: Sequence[str], new_tokens: int, temperature: float = 0.0,
         report: Report = lambda m: None) -> dict[str, Any]:
    """Every candidate and plain decoding on the same work, interleaved; rows sorted by measured ratio, best first."""
    ids = [pair.text.chat(p, None) for p in prompts]

    def total(make: Callable[[], Proposer], draft_len: int) -> tuple[float, list]:
        runs = []
        options = Options(new_tokens, draft_len, Sampling(temperature), ignore_eos=True, record=False)
        for prompt in ids:
            gc.collect()
            runs.append(stats.totals(list(Decoding(pair.target, make(), prompt, options, pair.text)), "", "length", None))
        return sum(t.ttft_s + t.decode_s for t in runs), runs

    total(Proposer, 0)                                                       # warm-up
    rows = []
    for n, (settings, k) in enumerate(todo := CANDIDATES[method], 1):
        label = f"chain of {k}" if settings["tree"] == "chain" else " ".join(str(x) for x in settings.values())
        report(f"{n} of {len(todo)}: {label}")
        plain_s, _ = total(Proposer, 0)
        seconds, runs = total(lambda settings=settings: methods.get(method).proposer(pair, settings), k)
        drafting = [t for t in runs if t.tokens_per_round]
        rows.append({"draft": label, **settings, "draft_len": k, "ratio": plain_s / seconds,
                     "tokens_per_round": sum(t.tokens_per_round for t in drafting) / max(1, len(drafting)),
                     "passes": sum(t.rounds for t in runs)})
    rows.sort(key=lambda r: -r["ratio"])
    return {"version": 1, "target": pair.target_name, "method": method, "new_tokens": new_tokens, "prompts": len(prompts), "rows": rows}


def table(result: dict[str, Any]) -> str:
    lines = [f"{'draft':<22} {'vs plain':>9} {'tokens/round':>13} {'passes':>7}"]
    return "\n".join(lines + [f"{r['draft']:<22} {r['ratio']:>8.2f}x {r['tokens_per_round']:>13.2f} {r['passes']:>7}" for r in result["rows"]])
