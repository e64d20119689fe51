"""README's table "What it gains": `python -m tests.pays [--json FILE]` measures every method by default settings on this machine.

Six example prompts and ten others; each method and plain decoding in turns, medians of three; ratios of plain's seconds to the method's.
`python -m tests.pays --table FILE.json …` prints such results as README's table.
Weaker CPUs: set ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY, MKL_ENABLE_INSTRUCTIONS and FBGEMM_ENABLE_INSTRUCTIONS before it starts.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

from core.checkpoints import load
from core.decoding.loop import Options
from core.measuring import costs, stats
from core.methods import registry
from core.runs import bench, prompts
from core.runs.compare import Work
from core.runs.runner import Request

OWN = ("What is the difference between a lake and a pond?", "Write three rhyming lines about rain.", "How do I boil an egg so that it stays soft?",
       "Give me a plan for a quiet weekend at home.", "Explain recursion to a beginner.", "Write a polite email that declines an invitation.",
       "List the planets from the sun outwards.", "Why do cats purr?", "Write a SQL query that finds the ten newest orders.",
       "Repeat this sentence three times: The quick brown fox jumps over the lazy dog near the river bank.")
METHODS = ("eagle", "draft", "medusa", "lookup", "suffix", "lookup+eagle", "early-exit")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--table", type=Path, nargs="+")
    args = parser.parse_args()
    if args.table:
        print(table([json.loads(file.read_text()) for file in args.table]))
        return
    pair = load.load(dtype=args.dtype)
    costs.choose_threads(pair.target)
    asked = prompts.examples() | {f"own {i}": text for i, text in enumerate(OWN, 1)}
    ratios: dict[str, dict[str, float]] = {}
    differ, speeds = [], []
    measured = None
    for name, text in asked.items():
        request = Request(text, options=Options(args.tokens, "auto", ignore_eos=True))
        work = Work(pair, request, [registry.get(m) for m in ("plain", *METHODS)])
        measured = measured or work.costs
        work.costs = {m: {**measured[m], **({"acceptance": work.costs[m]["acceptance"]} if m != "plain" else {})} for m in work.costs}
        seconds: dict[str, list[float]] = {m: [] for m in work.proposers}
        texts = {}
        for m in work.proposers:
            work.warm_up(m)
        for _ in range(args.repeats):
            for m in work.proposers:
                out = work.decode(m)
                total = stats.totals(out.rounds, out.text, "length", None)
                seconds[m].append(total.ttft_s + total.decode_s)
                texts[m] = out.ids
        middle = {m: statistics.median(s) for m, s in seconds.items()}
        speeds.append(args.tokens / middle["plain"])
        ratios[name] = {m: middle["plain"] / middle[m] for m in METHODS}
        differ += [f"{name} {m}" for m in METHODS if texts[m] != texts["plain"]]
        print(f"{name:8}", "  ".join(f"{m} {r:.2f}x" for m, r in ratios[name].items()), file=sys.stderr, flush=True)
    examples = [ratios[name] for name in prompts.examples()]
    result = {"arithmetic": pair.target.arithmetic, "row_exact": pair.target.row_exact, "why": pair.notes.get("arithmetic", {}).get("why"),
              "threads": torch.get_num_threads(), "plain_tokens_per_s": statistics.median(speeds), "ratios": ratios, "texts_differ": differ,
              "passes": {k: s for k, s in measured["eagle"]["verify_s"].items()},
              "mean_examples": {m: statistics.mean(r[m] for r in examples) for m in METHODS},
              "mean_all": {m: statistics.mean(r[m] for r in ratios.values()) for m in METHODS},
              "lowest": {m: min(r[m] for r in ratios.values()) for m in METHODS},
              "transformers": bench.against_transformers(pair)}
    print(json.dumps({k: v for k, v in result.items() if k != "ratios"}, indent=1))
    if args.json:
        args.json.write_text(json.dumps(result, indent=1))


def table(results: list[dict]) -> str:
    """Results of several settings as a Markdown table, a column each: means over the six examples, and in brackets the lowest of all prompts."""
    rows = [("arithmetic that `auto` took", [r["arithmetic"] for r in results]),
            ("plain, tokens/s", [f"{r['plain_tokens_per_s']:.0f}" for r in results]),
            ("plain against transformers' faster dtype", [f"{r['transformers']['plain_over_transformers']:.2f}x" for r in results]),
            ("a pass over 4 tokens against one", [f"{r['passes']['4'] / r['passes']['1']:.2f}x" for r in results])]
    rows += [(f"`{m}`", [f"{r['mean_examples'][m]:.2f}x ({r['lowest'][m]:.2f}x)" for r in results]) for m in METHODS]
    rows += [(f"lookup on {name}", [f"{r['ratios'][name]['lookup']:.2f}x" for r in results]) for name in ("edit", "chat")]
    rows.append(("greedy texts unlike plain's", [f"{len(r['texts_differ'])} of {len(r['ratios']) * len(METHODS)}" for r in results]))
    return "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)


if __name__ == "__main__":
    main()
