"""The parsed arguments of a command -> what core decodes: a Request, a loaded pair, costs. Every mistake is a UserError."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import UserError


def request(args: argparse.Namespace, method: str):
    """The core.runs.runner.Request of `run` or `compare`, for this method."""
    from core.decoding.loop import Options
    from core.grammar.constraint import Constraint
    from core.methods import registry
    from core.runs.runner import Request
    from core.sampling.probs import Sampling
    ids = _prompt_ids(args)
    prompt = _stdin() if args.prompt == "-" else args.prompt
    for name, text in (("--prompt", prompt), ("--system", args.system), *(("--stop", s) for s in args.stop), ("--regex", args.regex)):
        if text is not None and not text.isprintable() and any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise UserError(f"{name} is not UTF-8 text.")
    if prompt is not None and not prompt.strip():
        raise UserError("The prompt is empty: there is nothing to continue.")
    tree = getattr(args, "tree", None)
    if args.draft_len is not None and tree and tree[0].isdigit():
        raise UserError(f"--tree {tree} says already how many levels are drafted: leave out --draft-len.")
    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty)
    length = "auto" if args.draft_len is None else args.draft_len
    options = Options(args.max_new_tokens, length, sampling, args.seed, tuple(args.stop), args.ignore_eos,
                      record=not getattr(args, "no_tables", False), verify=args.verify, graphs=args.graphs,
                      grammar=Constraint.chosen(args.json_schema, args.regex, args.choice))
    given = {name: getattr(args, name) for name in registry.all_settings() if getattr(args, name) is not None}
    return Request(prompt, ids, args.system, args.raw, method, options, given)


def _prompt_ids(args: argparse.Namespace) -> tuple[int, ...] | None:
    if (args.prompt is None) == (args.prompt_ids is None):
        raise UserError("Give the text with --prompt, or token ids with --prompt-ids: one of the two.")
    if args.prompt_ids is None:
        return None
    try:
        ids = tuple(int(x) for x in args.prompt_ids.split(","))
    except ValueError:
        raise UserError(f"--prompt-ids wants numbers with commas between them, like 1,5,9, not {args.prompt_ids!r}.") from None
    if args.system is not None or args.raw:
        raise UserError("--system and --raw belong to --prompt; with --prompt-ids the ids run as they are.")
    return ids


def _stdin() -> str:
    if sys.stdin is None:
        raise UserError("--prompt - reads the prompt from stdin, which is closed.")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise UserError("The prompt on stdin is not UTF-8 text.") from None


def default_method(args: argparse.Namespace) -> str:
    """The method of a run that names none: the one the ready pair is for, else draft."""
    from core.checkpoints import presets
    return presets.all_()[args.pair].method if args.target is None and args.pair in presets.all_() else "draft"


def need_chain(args: argparse.Namespace, chosen: list, given: dict) -> None:
    """Raises UserError when --draft-len was given and every chosen method drafts a tree, which has a depth of its own."""
    trees = {m.name: given.get("tree") or next((s.default for s in m.settings if s.name == "tree"), "chain") for m in chosen}
    if not given.get("tree_tokens"):        # then `auto` drafts a chain under a --draft-len
        trees = {name: "chain" if tree == "auto" else tree for name, tree in trees.items()}
    if args.draft_len is not None and "chain" not in trees.values():
        name, tree = next(iter(trees.items()))
        raise UserError(f"--method {name} drafts a tree here (--tree {tree}), which has its own depth: leave out --draft-len, "
                        "or take --tree chain.")


def load_pair(args: argparse.Namespace, anew: bool = False):
    """The core.checkpoints.load.Pair that the model options name, with the number of CPU threads set: as given, else by measuring."""
    import torch

    from core.checkpoints import load
    from core.measuring import costs
    most = max(64, os.cpu_count() or 1)
    if args.threads is not None and not 1 <= args.threads <= most:
        raise UserError(f"--threads must be from 1 to {most}, not {args.threads}.")
    with progress() as report:
        pair = load.load(args.pair, args.target, args.draft, args.dtype, args.device, report, args.quantize, anew)
    if args.threads:
        torch.set_num_threads(args.threads)
    else:
        costs.choose_threads(pair.target)
    return pair


@contextmanager
def progress() -> Iterator[Callable[..., None]]:
    """A progress bar on stderr, shown only in a terminal and only for what takes a while."""
    from tqdm import tqdm
    with tqdm(total=100, unit="%", delay=0.7, leave=False, file=sys.stderr, disable=not sys.stderr.isatty(),
              bar_format="{desc} {bar} {percentage:.0f} %") as bar:
        def report(message: str, share: float | None, phase: str = "loading") -> None:
            bar.set_description_str(message, refresh=False)
            bar.n = round(100 * share, 1) if share is not None else 0
            bar.refresh()
        yield report


def read_costs(name: str | None) -> dict | None:
    """The costs in a file: a trace, or the `run.costs` of one. Raises UserError for any other file."""
    if name is None:
        return None
    from core.json_file import read_object
    data = read_object(Path(name))
    costs = data.get("run", {}).get("costs", data) if isinstance(data.get("run", {}), dict) else {}
    passes = costs.get("verify_s") if isinstance(costs, dict) else None
    good = isinstance(passes, dict) and len(passes) > 1 and all(k.isdecimal() and isinstance(s, (int, float)) and s > 0 for k, s in passes.items())
    if not good or not isinstance(costs.get("draft_step_s", 0), (int, float, type(None))):
        raise UserError(f"{name} holds no costs: give a trace (.json) or its run.costs, with verify_s and draft_step_s in seconds.")
    return costs
