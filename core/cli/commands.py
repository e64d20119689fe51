"""What each `specscope` command does. Every function takes the parsed arguments and returns the exit code."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import UserError


def _request(args: argparse.Namespace, method: str):
    from core.decoding.loop import Options
    from core.methods import registry
    from core.runs.runner import Request
    from core.sampling.probs import Sampling
    if (args.prompt is None) == (args.prompt_ids is None):
        raise UserError("Give the text with --prompt, or token ids with --prompt-ids: one of the two.")
    ids = None
    if args.prompt_ids is not None:
        try:
            ids = tuple(int(x) for x in args.prompt_ids.split(","))
        except ValueError:
            raise UserError(f"--prompt-ids wants numbers with commas between them, like 1,5,9, not {args.prompt_ids!r}.") from None
        if args.system is not None or args.raw:
            raise UserError("--system and --raw belong to --prompt; with --prompt-ids the ids run as they are.")
    prompt = _stdin() if args.prompt == "-" else args.prompt
    for name, text in (("--prompt", prompt), ("--system", args.system), *(("--stop", s) for s in args.stop)):
        if text is not None and not text.isprintable() and any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise UserError(f"{name} is not UTF-8 text.")
    if prompt is not None and not prompt.strip():
        raise UserError("The prompt is empty: there is nothing to continue.")
    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty)
    tree = getattr(args, "tree", None)
    if args.draft_len is not None and tree and tree[0].isdigit():
        raise UserError(f"--tree {tree} says already how many levels are drafted: leave out --draft-len.")
    draft_len = 4 if args.draft_len is None else args.draft_len
    options = Options(args.max_new_tokens, draft_len, sampling, args.seed, tuple(args.stop), args.ignore_eos,
                      record=not getattr(args, "no_tables", False), verify=args.verify, graphs=args.graphs)
    given = {name: getattr(args, name) for name in registry.all_settings() if getattr(args, name) is not None}
    return Request(prompt, ids, args.system, args.raw, method, options, given)


def _method(args: argparse.Namespace) -> str:
    """Where none is named: what the ready pair is for."""
    from core.checkpoints import presets
    return presets.all_()[args.pair].method if args.target is None and args.pair in presets.all_() else "draft"


def _stdin() -> str:
    if sys.stdin is None:
        raise UserError("--prompt - reads the prompt from stdin, which is closed.")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise UserError("The prompt on stdin is not UTF-8 text.") from None


def _load(args: argparse.Namespace):
    import torch

    from core.checkpoints import load
    from core.measuring import costs
    most = max(64, os.cpu_count() or 1)
    if args.threads is not None and not 1 <= args.threads <= most:
        raise UserError(f"--threads must be from 1 to {most}, not {args.threads}.")
    with _progress() as report:
        pair = load.load(args.pair, args.target, args.draft, args.dtype, args.device, report, args.quantize)
    if args.threads:
        torch.set_num_threads(args.threads)
    else:
        costs.choose_threads(pair.target)
    return pair


@contextmanager
def _progress() -> Iterator[Callable[[str, float | None], None]]:
    """A progress bar on stderr, shown only where a person watches and only for what takes a while."""
    from tqdm import tqdm
    with tqdm(total=100, unit="%", delay=0.7, leave=False, file=sys.stderr, disable=not sys.stderr.isatty(),
              bar_format="{desc} {bar} {percentage:.0f} %") as bar:
        def report(message: str, share: float | None) -> None:
            bar.set_description_str(message, refresh=False)
            bar.n = round(100 * share, 1) if share is not None else 0
            bar.refresh()
        yield report


def check_writable(name: str | None) -> None:
    """Before a run of minutes, not after it."""
    if name not in (None, "-"):
        path = Path(name)
        try:
            trouble = "it is a folder" if path.is_dir() else "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        except OSError as error:                # a name too long, for one
            trouble = error.strerror or str(error)
        if trouble:
            raise UserError(f"Cannot write {name[:200]}: {trouble}.")


def _need_chain(args: argparse.Namespace, chosen: list, given: dict) -> None:
    """Raises UserError when --draft-len was given and every chosen method drafts a tree, which has a depth of its own."""
    trees = {m.name: given.get("tree") or next((s.default for s in m.settings if s.name == "tree"), "chain") for m in chosen}
    if args.draft_len is not None and "chain" not in trees.values():
        name, tree = next(iter(trees.items()))
        raise UserError(f"--method {name} drafts a tree here (--tree {tree}), which has its own depth: leave out --draft-len, "
                        "or take --tree chain.")


def run(args: argparse.Namespace) -> int:
    from core.measuring import stats
    from core.methods import registry
    from core.methods.settings import complete
    method = registry.get(_method(args) if args.method is None else args.method)
    request = _request(args, method.name)
    _need_chain(args, [method], complete(method.settings, request.settings, method.name))
    check_writable(args.json)
    from core.cli.terminal import Printer, summary, wants_colour
    from core.runs.runner import Run
    costs = _costs(args.costs)
    pair = _load(args)
    registry.need_given(pair, [method])
    run = Run(pair, request, costs)
    quiet = args.json == "-"
    printer = Printer(sys.stdout, wants_colour(sys.stdout))
    plain, code = None, 0
    try:
        for round_ in run.rounds():
            if not quiet:
                printer.round(round_)
        if args.baseline:
            for so_far in run.plain():
                plain = stats.plain_record(so_far)
    except KeyboardInterrupt:
        plain, code = None, 130
    trace = run.trace(plain)
    if quiet:
        from core.trace import dumps
        print(dumps(trace.to_json()))
    else:
        printer.end(run.totals.text)
        print(summary(run.totals, plain), file=sys.stderr)
        if args.json:
            trace.write(args.json)
    if code:
        print("specscope: Interrupted; what was decoded so far is kept.", file=sys.stderr)
    return code


def _costs(name: str | None) -> dict | None:
    """A trace or the costs of one -> costs. Raises UserError for anything else."""
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


def compare(args: argparse.Namespace) -> int:
    from core.methods import registry
    given = _method(args) if args.methods is None else args.methods
    names = list(dict.fromkeys(n.strip() for n in given.split(",") if n.strip()))
    if not names:
        raise UserError("--methods names no method.")
    for name in names:
        registry.get(name)
    request = _request(args, names[0])
    _need_chain(args, [registry.get(name) for name in names], request.settings)
    check_writable(args.json)
    from core.cli.terminal import comparison
    from core.runs.compare import compare
    shown = (lambda m: print(f"\r\033[K{m}", end="", file=sys.stderr, flush=True)) if sys.stderr.isatty() else (lambda m: None)
    pair = _load(args)
    registry.need_given(pair, [registry.get(name) for name in names])
    with pair.enough():
        result = compare(pair, request, names, args.repeats, shown)
    shown("")
    write_json(args.json, result)
    if args.json != "-":
        print(comparison(result))
    return 0


def write_json(name: str | None, data: object) -> None:
    from core.trace import dumps, write_text
    if name == "-":
        print(dumps(data))
    elif name:
        write_text(Path(name), dumps(data) + "\n")


def prepare(args: argparse.Namespace) -> int:
    from core.checkpoints import embedded
    with _progress() as report:
        folder = embedded.ensure(report)
    print(f"Ready: {folder}")
    return 0


def record(args: argparse.Namespace) -> int:
    from core.runs import recordings
    if not Path(args.out).is_dir():
        raise UserError(f"There is no folder {args.out}.")
    for path in recordings.record(_load(args), Path(args.out), args.only, lambda m: print(m, file=sys.stderr)):
        print(path)
    return 0


def show(args: argparse.Namespace) -> int:
    from core import trace
    from core.cli.terminal import Printer, summary, wants_colour
    recorded = trace.read(args.file)
    printer = Printer(sys.stdout, wants_colour(sys.stdout))
    for round_ in recorded.rounds:
        printer.round(round_)
    printer.end(recorded.totals.text if recorded.totals else "".join(e.text for r in recorded.rounds for e in r.emitted))
    if recorded.totals:
        print(summary(recorded.totals, recorded.plain), file=sys.stderr)
    return 0


def bench(args: argparse.Namespace) -> int:
    from core.runs import bench
    check_writable(args.json)
    pair = _load(args)
    with pair.enough():
        result = bench.bench(pair, report=lambda m: print(m, file=sys.stderr))
    write_json(args.json, result)
    if args.json != "-":
        print(bench.table(result))
    return 0


def tune(args: argparse.Namespace) -> int:
    from core.runs import prompts, tune
    if not (args.prompts and args.max_new_tokens):
        raise UserError("--prompts and --max-new-tokens must be at least 1.")
    check_writable(args.json)
    pair = _load(args)
    with pair.enough():
        result = tune.tune(pair, args.what, list(prompts.examples().values())[:args.prompts], args.max_new_tokens, args.temperature,
                           report=lambda m: print(m, file=sys.stderr))
    write_json(args.json, result)
    if args.json != "-":
        print(tune.table(result))
    return 0
