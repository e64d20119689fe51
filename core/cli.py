"""`specscope …`, also `python -m core.cli`. Exit codes: 0; 1 the environment's trouble; 2 the user's mistake; 130 interrupted."""
from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from core.errors import EnvironmentFailure, UserError


class Parser(argparse.ArgumentParser):
    """One clear line instead of the usage text; no guessing of shortened options."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[:1].upper()}{message[1:]} (see {self.prog} --help).")


def main(argv: list[str] | None = None) -> int:
    """Run one command. Every known failure is one line on stderr, never a traceback."""
    _speak_utf8()
    try:
        args = parser().parse_args(argv)
        code = args.act(args)
        sys.stdout.flush()              # a full disk or a closed pipe shows here, not in the interpreter's last words
        return code
    except UserError as error:
        return _fail(str(error), 2)
    except EnvironmentFailure as error:
        return _fail(str(error), 1)
    except MemoryError:
        return _fail("Not enough memory: take a smaller model or a shorter prompt.", 1)
    except KeyboardInterrupt:
        return _fail("Interrupted.", 130)
    except BrokenPipeError:             # `| head` has what it wanted
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", 1)


def _speak_utf8() -> None:
    """Pipes and files get UTF-8 whatever the locale says; a terminal that lacks a character gets its code, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", **({} if stream.isatty() else {"encoding": "utf-8"}))


def _drop_output() -> None:
    """What stdout still holds cannot be written any more; at exit Python must not try again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    from core.terminal import visible
    print(f"specscope: {visible(sentence, newlines=False)}", file=sys.stderr)
    return code


def parser() -> Parser:
    top = Parser(prog="specscope", description="Speculative decoding, done for real and shown round by round.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    run = commands.add_parser("run", help="decode one prompt; print the text coloured by origin, or the trace")
    _decoding_options(run)
    run.add_argument("--method", default="draft", help="how tokens are proposed: draft, plain, … (default draft)")
    run.add_argument("--json", metavar="FILE", help="write the trace: .json, .ndjson (a line a round), or - for stdout")
    run.add_argument("--baseline", action="store_true", help="then measure plain decoding of the same prompt and tokens")
    run.add_argument("--no-tables", action="store_true", help="do not record the two laws at every position")
    run.set_defaults(act=_run)

    compare = commands.add_parser("compare", help="plain and speculative decoding interleaved on the same work")
    _decoding_options(compare)
    compare.add_argument("--methods", default="draft", help="comma-separated, e.g. draft,lookup (default draft)")
    compare.add_argument("--repeats", type=_whole, default=3, metavar="N", help="timed runs of each (default 3)")
    compare.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")
    compare.set_defaults(act=_compare)

    traces = commands.add_parser("traces", help="prepare the model cache, or look at recorded runs")
    what = traces.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=Parser)
    prepare = what.add_parser("prepare", help="fetch and convert the embedded target now, e.g. before a workshop")
    prepare.set_defaults(act=_prepare)
    record = what.add_parser("record", help="make the shipped recordings anew, from assets/prompts/recordings.toml")
    _model_options(record)
    record.add_argument("--out", default=str(Path(__file__).resolve().parent.parent / "assets" / "traces"), metavar="FOLDER",
                        help="default: the shipped ones")
    record.add_argument("--only", metavar="NAME", help="one of them, e.g. chat-draft")
    record.set_defaults(act=_record)
    show = what.add_parser("show", help="print a recorded run as `run` would have")
    show.add_argument("file")
    show.set_defaults(act=_show)

    bench = commands.add_parser("bench", help="this machine's figures: against transformers, cost of a pass, cost of recording")
    _model_options(bench)
    bench.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")
    bench.set_defaults(act=_bench)

    tune = commands.add_parser("tune", help="measure a method's choices on this target and machine")
    tune.add_argument("what", choices=["draft", "early-exit", "eagle", "medusa", "lookup"], metavar="METHOD",
                      help="draft, eagle, medusa: chains and trees; early-exit: which layers the draft may skip; lookup: draft lengths")
    _model_options(tune)
    tune.add_argument("--prompts", type=_whole, default=3, metavar="N", help="how many of the example prompts (default 3)")
    tune.add_argument("--max-new-tokens", type=_whole, default=48, metavar="N", help="default 48")
    tune.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default 0)")
    tune.add_argument("--json", metavar="FILE", help="write the table as JSON, - for stdout")
    tune.set_defaults(act=_tune)

    train = commands.add_parser("train", help="train a draft for a target on text that the target writes")
    _lazy_train(train)
    return top


def _model_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--pair", default="smollm2", help="a known pair (default smollm2: the embedded target and its drafts)")
    p.add_argument("--target", metavar="PATH_OR_ID", help="instead of a pair: checkpoint folder, .gguf file or Hub id")
    p.add_argument("--draft", metavar="PATH_OR_ID", help="draft model or draft head for --target")
    p.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default auto)")
    p.add_argument("--dtype", default="auto", help="auto, float32, float64, bfloat16, float16 (default auto)")
    p.add_argument("--threads", type=_whole, metavar="N", help="CPU threads (default: measured at start)")


def _decoding_options(p: argparse.ArgumentParser) -> None:
    _model_options(p)
    p.add_argument("--prompt", metavar="TEXT", help="one user turn, put through the chat template; - reads it from stdin")
    p.add_argument("--prompt-ids", metavar="IDS", help="token ids instead of text: 1,5,9")
    p.add_argument("--system", metavar="TEXT", help="system turn")
    p.add_argument("--raw", action="store_true", help="skip the chat template")
    p.add_argument("--draft-len", type=_draft_len, metavar="K", help="tokens drafted a round, auto or heuristic (default 4)")
    p.add_argument("--verify", default="chain", help="chain; block: the joint law of the whole block at once (default chain)")
    p.add_argument("--typical", dest="verify", action="store_const", const="typical", 
                   help="typical acceptance (Medusa): LOSSY, keeps what the target finds likely enough")
    p.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default 0)")
    p.add_argument("--top-k", type=_whole, default=0, help="0 is off (default 0)")
    p.add_argument("--top-p", type=float, default=1.0, help="1 is off (default 1)")
    p.add_argument("--min-p", type=float, default=0.0, help="0 is off (default 0)")
    p.add_argument("--repetition-penalty", type=float, default=1.0, help="1 is off (default 1)")
    p.add_argument("--seed", type=_whole, default=0, help="default 0")
    p.add_argument("--max-new-tokens", type=_whole, default=96, metavar="N", help="default 96")
    p.add_argument("--stop", action="append", default=[], metavar="TEXT", help="stop string; may be given several times")
    p.add_argument("--ignore-eos", action="store_true", help="go on behind the end-of-text token")
    from core import methods
    for setting in methods.all_settings().values():
        kind = {"action": "store_true", "default": None} if setting.kind is bool else {"metavar": setting.kind.__name__.upper()}
        p.add_argument(setting.flag, help=f"{setting.help} (default {setting.default})", **kind)


def _whole(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > 100:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 0 up")
    return int(text)


def _draft_len(text: str) -> int | str:
    return text if text in ("auto", "heuristic") else _whole(text)


def _request(args: argparse.Namespace, method: str):
    from core import methods
    from core.loop import Options
    from core.probs import Sampling
    from core.runner import Request
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
                      record=not getattr(args, "no_tables", False), verify=args.verify)
    given = {name: getattr(args, name) for name in methods.all_settings() if getattr(args, name) is not None}
    return Request(prompt, ids, args.system, args.raw, method, options, given)


def _stdin() -> str:
    if sys.stdin is None:
        raise UserError("--prompt - reads the prompt from stdin, which is closed.")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise UserError("The prompt on stdin is not UTF-8 text.") from None


def _load(args: argparse.Namespace):
    import torch

    from core import costs, load
    most = max(64, os.cpu_count() or 1)
    if args.threads is not None and not 1 <= args.threads <= most:
        raise UserError(f"--threads must be from 1 to {most}, not {args.threads}.")
    with _progress() as report:
        pair = load.load(args.pair, args.target, args.draft, args.dtype, args.device, report)
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


def _check_writable(name: str | None) -> None:
    """Before a run of minutes, not after it."""
    if name not in (None, "-"):
        path = Path(name)
        try:
            trouble = "it is a folder" if path.is_dir() else "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        except OSError as error:                # a name too long, for one
            trouble = error.strerror or str(error)
        if trouble:
            raise UserError(f"Cannot write {name[:200]}: {trouble}.")


def _run(args: argparse.Namespace) -> int:
    from core import methods, stats
    from core.settings import complete
    method = methods.get(args.method)
    request = _request(args, args.method)
    tree = complete(method.settings, request.settings, method.name).get("tree", "chain")
    if args.draft_len is not None and tree != "chain":
        raise UserError(f"--method {method.name} drafts a tree here (--tree {tree}), which has its own depth: leave out --draft-len, "
                        "or take --tree chain.")
    _check_writable(args.json)
    from core.runner import Run
    from core.terminal import Printer, summary, wants_colour
    run = Run(_load(args), request)
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


def _compare(args: argparse.Namespace) -> int:
    from core import methods
    names = list(dict.fromkeys(n.strip() for n in args.methods.split(",") if n.strip()))
    if not names:
        raise UserError("--methods names no method.")
    for name in names:
        methods.get(name)
    request = _request(args, names[0])
    _check_writable(args.json)
    from core.compare import compare
    from core.terminal import comparison
    shown = (lambda m: print(f"\r\033[K{m}", end="", file=sys.stderr, flush=True)) if sys.stderr.isatty() else (lambda m: None)
    result = compare(_load(args), request, names, args.repeats, shown)
    shown("")
    _write_json(args.json, result)
    if args.json != "-":
        print(comparison(result))
    return 0


def _write_json(name: str | None, data: object) -> None:
    from core.trace import dumps, write_text
    if name == "-":
        print(dumps(data))
    elif name:
        write_text(Path(name), dumps(data) + "\n")


def _prepare(args: argparse.Namespace) -> int:
    from core import embedded
    with _progress() as report:
        folder = embedded.ensure(report)
    print(f"Ready: {folder}")
    return 0


def _record(args: argparse.Namespace) -> int:
    from core import recordings
    if not Path(args.out).is_dir():
        raise UserError(f"There is no folder {args.out}.")
    for path in recordings.record(_load(args), Path(args.out), args.only, lambda m: print(m, file=sys.stderr)):
        print(path)
    return 0


def _show(args: argparse.Namespace) -> int:
    from core import trace
    from core.terminal import Printer, summary, wants_colour
    recorded = trace.read(args.file)
    printer = Printer(sys.stdout, wants_colour(sys.stdout))
    for round_ in recorded.rounds:
        printer.round(round_)
    printer.end(recorded.totals.text if recorded.totals else "".join(e.text for r in recorded.rounds for e in r.emitted))
    if recorded.totals:
        print(summary(recorded.totals, recorded.plain), file=sys.stderr)
    return 0


def _bench(args: argparse.Namespace) -> int:
    from core import bench
    _check_writable(args.json)
    result = bench.bench(_load(args), report=lambda m: print(m, file=sys.stderr))
    _write_json(args.json, result)
    if args.json != "-":
        print(bench.table(result))
    return 0


def _tune(args: argparse.Namespace) -> int:
    from core import prompts, tune
    if not (args.prompts and args.max_new_tokens):
        raise UserError("--prompts and --max-new-tokens must be at least 1.")
    _check_writable(args.json)
    result = tune.tune(_load(args), args.what, list(prompts.examples().values())[:args.prompts], args.max_new_tokens, args.temperature,
                       report=lambda m: print(m, file=sys.stderr))
    _write_json(args.json, result)
    if args.json != "-":
        print(tune.table(result))
    return 0


def _lazy_train(p: argparse.ArgumentParser) -> None:
    import importlib.util
    if not importlib.util.find_spec("core.train.main"):
        return
    from core.train.main import add_arguments
    from core.train.main import main as train
    add_arguments(p)
    p.set_defaults(act=train)


if __name__ == "__main__":
    sys.exit(main())
