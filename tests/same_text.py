"""Whether every method writes plain's text, bit for bit, by default arithmetic: `python -m tests.same_text [--first 0 --prompts 40]`.

Each prompt greedily and with --verify coupled (seed = its number, temperature 0.8), default settings otherwise. Not a test of the suite: it
takes about ten minutes.
"""
from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import chain, cycle, islice

from core.checkpoints import load
from core.decoding.loop import Options
from core.measuring import costs
from core.methods import registry
from core.runs import prompts
from core.runs.compare import Work
from core.runs.runner import Request
from core.sampling.probs import Sampling
from core.train import prompts as train_prompts
from tests.pays import METHODS, OWN


def asked(n: int) -> list[str]:
    """The examples, pays.py's own prompts, then prompts on topics that no draft was trained on."""
    train = train_prompts.load()
    held_out = (task.format(topic=topic) for topic, task in zip(cycle(train.held_out_topics), train.tasks))
    return list(islice(chain(prompts.examples().values(), OWN, held_out), n))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--dtype", default="auto")
    args = parser.parse_args()
    pair = load.load(dtype=args.dtype)
    costs.choose_threads(pair.target)
    work = Work(pair, Request("Hello", options=Options(args.tokens, "auto")), [registry.get(m) for m in ("plain", *METHODS)])
    runs, differ = 0, []
    for i, text in list(enumerate(asked(args.prompts)))[args.first:]:
        work.ids = Request(text).ids(pair)
        for kind, options in (("greedy", {}), ("coupled", {"sampling": Sampling(0.8), "verify": "coupled", "seed": i})):
            ids = {m: work.decode(m, replace(work.options, **options)).ids for m in work.proposers}
            runs += len(METHODS)
            differ += [f"prompt {i} {kind} {m}" for m in METHODS if ids[m] != ids["plain"]]
        print(f"prompt {i}: {len(differ)} of {runs} differ", file=sys.stderr, flush=True)
    print(f"{pair.target.arithmetic}, row-exact {pair.target.row_exact}:",
          f"{len(differ)} of {runs} texts of {args.tokens} tokens differ from plain's.",
          *differ)


if __name__ == "__main__":
    main()
