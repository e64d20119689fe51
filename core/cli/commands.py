"""What each `specscope` command does. Every function takes the parsed arguments and returns the exit code."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli import values
from core.cli.output import check_writable, give
from core.cli.request import default_method, load_pair, need_chain, progress, read_costs, request
from core.errors import EnvironmentFailure, UserError

if TYPE_CHECKING:
    from core.runs.runner import Run
    from core.trace import Round


def run(args: argparse.Namespace) -> int:
    """Decode one prompt and print it, or its trace. Exit code 130 after Ctrl-C, with the trace so far written."""
    from core.methods import registry
    from core.methods.settings import complete
    from core.runs.runner import Run
    method = registry.get(default_method(args) if args.method is None else args.method)
    wanted = request(args, method.name)
    need_chain(args, [method], complete(method.settings, wanted.settings, method.name))
    check_writable(args.json)
    costs = read_costs(args.costs)
    pair = load_pair(args)
    registry.need_given(pair, [method])
    decoded = Run(pair, wanted, costs)
    interrupted = (_run_to_json if args.json == "-" else _run_in_the_terminal)(decoded, args)
    if interrupted:
        print("specscope: Interrupted; what was decoded so far is kept.", file=sys.stderr)
    return 130 if interrupted else 0


def _run_to_json(run: Run, args: argparse.Namespace) -> bool:
    from core.trace import dumps
    plain, interrupted = _decode(run, args.baseline)
    print(dumps(run.trace(plain).to_json()))
    return interrupted


def _run_in_the_terminal(run: Run, args: argparse.Namespace) -> bool:
    from core.cli.terminal import Printer, summary, wants_colour
    printer = Printer(sys.stdout, wants_colour(sys.stdout))
    plain, interrupted = _decode(run, args.baseline, printer.round)
    printer.end(run.totals.text)
    print(summary(run.totals, plain, run.facts), file=sys.stderr)
    if args.json:
        run.trace(plain).write(args.json)
    return interrupted


def _decode(run: Run, baseline: bool, show: Callable[[Round], None] = lambda round_: None) -> tuple[dict[str, Any] | None, bool]:
    """Decode, showing every round, and with `baseline` measure plain decoding after it.
    Returns (the trace's `plain`, whether Ctrl-C ended the run)."""
    from core.measuring import stats
    plain = None
    try:
        for round_ in run.rounds():
            show(round_)
        if baseline:
            for so_far in run.plain():
                plain = stats.plain_record(so_far)
    except KeyboardInterrupt:
        return None, True
    return plain, False


def compare(args: argparse.Namespace) -> int:
    """Measure methods against plain decoding on the same work."""
    from core.cli.terminal import comparison
    from core.methods import registry
    given = default_method(args) if args.methods is None else args.methods
    names = list(dict.fromkeys(n.strip() for n in given.split(",") if n.strip()))
    if not names:
        raise UserError("--methods names no method.")
    methods = [registry.get(name) for name in names]
    wanted = request(args, names[0])
    need_chain(args, methods, wanted.settings)
    check_writable(args.json)
    from core.runs.compare import compare
    shown = (lambda m: print(f"\r\033[K{m}", end="", file=sys.stderr, flush=True)) if sys.stderr.isatty() else (lambda m: None)
    pair = load_pair(args)
    registry.need_given(pair, methods)
    with pair.enough():
        result = compare(pair, wanted, names, args.repeats, shown)
    shown("")
    give(args.json, result, comparison(result))
    return 0


def bench(args: argparse.Namespace) -> int:
    """Print this machine's figures."""
    check_writable(args.json)
    from core.runs import bench
    pair = load_pair(args)
    with pair.enough():
        result = bench.bench(pair, report=_say)
    give(args.json, result, bench.table(result))
    return 0


def tune(args: argparse.Namespace) -> int:
    """Measure a method's choices on the example prompts."""
    if not (args.prompts and args.max_new_tokens):
        raise UserError("--prompts and --max-new-tokens must be at least 1.")
    check_writable(args.json)
    from core.runs import prompts, tune
    if args.what == "acceptance":
        return _acceptance(args)
    asked = list(prompts.examples().values())[:args.prompts]
    pair = load_pair(args)
    with pair.enough():
        result = tune.tune(pair, args.what, asked, args.max_new_tokens, args.temperature, report=_say)
    give(args.json, result, tune.table(result))
    return 0


def _acceptance(args: argparse.Namespace) -> int:
    """What draft length `auto` starts from, on held-out prompts."""
    from core.runs import acceptance
    from core.train import prompts
    parts, pair = prompts.load(), load_pair(args)
    tasks = parts.tasks[:: max(1, len(parts.tasks) // max(1, args.prompts))][:args.prompts]
    asked = [task.format(topic=parts.held_out_topics[i % len(parts.held_out_topics)]) for i, task in enumerate(tasks)]
    asked += [task.format(passage=parts.passages[0]) for task in parts.passage_tasks[:args.prompts // 4]]
    with pair.enough():
        result = acceptance.measure(pair, asked, args.max_new_tokens, report=_say)
    lines = [f"{kind:8} {name:12} " + "  ".join("/".join(f"{x:.0%}" for x in ranks[:3]) for ranks in levels)
             for kind, methods in result.items() for name, levels in methods.items()]
    give(args.json, result, "\n".join(lines))
    return 0


def page(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C. `core` knows the page by its module's name only, and imports it here."""
    if port := os.environ.get("GRADIO_SERVER_PORT"):        # Gradio reads it when it is imported, and fails there
        try:
            values.port(port)
        except argparse.ArgumentTypeError as error:
            raise UserError(f"GRADIO_SERVER_PORT: {error}.") from None
    try:
        serve = importlib.import_module("spec_ui.serve").serve
    except ModuleNotFoundError as error:
        if error.name in ("spec_ui", "spec_ui.serve"):
            raise EnvironmentFailure("The page is not part of this copy of Specscope: it has the folder core without spec_ui.") from None
        raise
    serve(args.host, args.port)
    return 0


def traces_prepare(args: argparse.Namespace) -> int:
    """Fill the model cache."""
    from core.checkpoints import embedded
    with progress() as report:
        folder = embedded.ensure(report)
    print(f"Ready: {folder}")
    return 0


def traces_record(args: argparse.Namespace) -> int:
    """Make the shipped recordings anew."""
    if not Path(args.out).is_dir():
        raise UserError(f"There is no folder {args.out}.")
    from core.runs import recordings
    for path in recordings.record(load_pair(args), Path(args.out), args.only, _say):
        print(path)
    return 0


def traces_show(args: argparse.Namespace) -> int:
    """Print a recorded run as `run` would have."""
    from core import trace
    from core.cli.terminal import Printer, summary, wants_colour
    recorded = trace.read(args.file)
    printer = Printer(sys.stdout, wants_colour(sys.stdout))
    for round_ in recorded.rounds:
        printer.round(round_)
    printer.end(recorded.totals.text if recorded.totals else "".join(e.text for r in recorded.rounds for e in r.emitted))
    if recorded.totals:
        print(summary(recorded.totals, recorded.plain, recorded.run), file=sys.stderr)
    return 0


def _say(message: str) -> None:
    print(message, file=sys.stderr)
