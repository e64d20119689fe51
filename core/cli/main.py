"""`specscope …`, also `python -m core.cli`. Exit codes: 0; 1 the environment's trouble; 2 the user's mistake; 130 interrupted."""
from __future__ import annotations

import argparse
import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

from core.assets import ASSETS
from core.cli import checks, commands
from core.errors import EnvironmentFailure, UserError
from core.methods import registry
from core.train.main import add_arguments as add_train
from core.train.main import main as train_main


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
    except ModuleNotFoundError as error:        # a checkout with torch alone, say; a module of ours would be a bug
        if str(error.name).partition(".")[0] == __package__:
            raise
        return _fail(f"This command needs a package that is not installed: pip install {error.name}.", 1)
    except (MemoryError, RuntimeError) as error:        # of torch's own errors, want of memory alone is no bug
        from core.checkpoints import memory
        if not memory.is_out(error):
            raise
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
    from core.cli.terminal import visible
    print(f"specscope: {visible(sentence, newlines=False)}", file=sys.stderr)
    return code


def parser() -> Parser:
    top = Parser(prog="specscope", description="Speculative decoding, done for real and shown round by round.")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    run = sub.add_parser("run", help="decode one prompt; print the text coloured by origin, or the trace")
    _decoding_options(run)
    run.add_argument("--method", help="how tokens are proposed: draft, plain, … (default draft, or what a ready pair is for)")
    run.add_argument("--json", metavar="FILE", help="write the trace: .json, .ndjson (a line a round), or - for stdout")
    run.add_argument("--costs", metavar="FILE", help="take these costs (a trace, or its run.costs) instead of measuring: --draft-len auto repeats")
    run.add_argument("--baseline", action="store_true", help="then measure plain decoding of the same prompt and tokens")
    run.add_argument("--no-tables", action="store_true", help="do not record the two laws at every position")
    run.set_defaults(act=commands.run)

    compare = sub.add_parser("compare", help="plain and speculative decoding interleaved on the same work")
    _decoding_options(compare)
    compare.add_argument("--methods", help="comma-separated, e.g. draft,lookup (default draft, or what a ready pair is for)")
    compare.add_argument("--repeats", type=_whole, default=3, metavar="N", help="timed runs of each (default 3)")
    compare.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")
    compare.set_defaults(act=commands.compare)

    traces = sub.add_parser("traces", help="prepare the model cache, or look at recorded runs")
    what = traces.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=Parser)
    prepare = what.add_parser("prepare", help="fetch and convert the embedded target now, e.g. before a workshop")
    prepare.set_defaults(act=commands.prepare)
    record = what.add_parser("record", help="make the shipped recordings anew, from assets/prompts/recordings.toml")
    _model_options(record)
    record.add_argument("--out", default=str(ASSETS / "traces"), metavar="FOLDER",
                        help="default: the shipped ones")
    record.add_argument("--only", metavar="NAME", help="one of them, e.g. chat-draft")
    record.set_defaults(act=commands.record)
    show = what.add_parser("show", help="print a recorded run as `run` would have")
    show.add_argument("file")
    show.set_defaults(act=commands.show)

    bench = sub.add_parser("bench", help="this machine's figures: against transformers, cost of a pass, cost of recording")
    _model_options(bench)
    bench.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")
    bench.set_defaults(act=commands.bench)

    check = sub.add_parser("check", help="what this machine can run, and how fast")
    of_what = check.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=Parser)
    gpu = of_what.add_parser("gpu", help="every method on this GPU with random weights: identity, waits, costs (needs torch alone)")
    gpu.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")
    gpu.add_argument("--seconds", type=_whole, default=420, metavar="N", help="time to spend at most (default 420)")
    gpu.set_defaults(act=checks.gpu)
    ready = of_what.add_parser("presets", help="the ready pairs by size of GPU, with licences and what fits here")
    ready.set_defaults(act=checks.presets)

    tune = sub.add_parser("tune", help="measure a method's choices on this target and machine")
    tune.add_argument("what", choices=["draft", "early-exit", "eagle", "medusa", "lookup"], metavar="METHOD",
                      help="draft, eagle, medusa: chains and trees; early-exit: which layers the draft may skip; lookup: draft lengths")
    _model_options(tune)
    tune.add_argument("--prompts", type=_whole, default=3, metavar="N", help="how many of the example prompts (default 3)")
    tune.add_argument("--max-new-tokens", type=_whole, default=48, metavar="N", help="default 48")
    tune.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default 0)")
    tune.add_argument("--json", metavar="FILE", help="write the table as JSON, - for stdout")
    tune.set_defaults(act=commands.tune)

    train = sub.add_parser("train", help="train a draft for a target on text that the target writes")
    add_train(train)
    train.set_defaults(act=train_main)
    return top


def _model_options(p: argparse.ArgumentParser) -> None:
    p.add_argument("--pair", default="smollm2", help="a known pair (default smollm2: the embedded target and its drafts; list: check presets)")
    p.add_argument("--target", metavar="PATH_OR_ID", help="instead of a pair: checkpoint folder, .gguf file or Hub id")
    p.add_argument("--draft", metavar="PATH_OR_ID", help="draft model or draft head for --target")
    p.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default auto)")
    p.add_argument("--dtype", default="auto", help="auto, float32, float64, bfloat16, float16 (default auto)")
    p.add_argument("--quantize", metavar="BITS", help="int8 or int4: the target's layers in fewer bits, by torchao or bitsandbytes if installed")
    p.add_argument("--threads", type=_whole, metavar="N", help="CPU threads (default: measured at start)")


def _decoding_options(p: argparse.ArgumentParser) -> None:
    _model_options(p)
    p.add_argument("--prompt", metavar="TEXT", help="one user turn, put through the chat template; - reads it from stdin")
    p.add_argument("--prompt-ids", metavar="IDS", help="token ids instead of text: 1,5,9")
    p.add_argument("--system", metavar="TEXT", help="system turn")
    p.add_argument("--raw", action="store_true", help="skip the chat template")
    p.add_argument("--draft-len", type=_draft_len, metavar="K", help="tokens drafted a round, constant, auto or heuristic (default 4)")
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
    p.add_argument("--no-graphs", dest="graphs", action="store_const", const=False, help="with CUDA: launch each kernel by itself, capture nothing")
    for setting in registry.all_settings().values():
        kind = {"action": "store_true", "default": None} if setting.kind is bool else {"metavar": setting.kind.__name__.upper()}
        p.add_argument(setting.flag, help=f"{setting.help} ({registry.default_words(setting.name)})", **kind)


def _whole(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > 100:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 0 up")
    return int(text)


def _draft_len(text: str) -> int | str:
    return text if text in ("auto", "heuristic", "constant") else _whole(text)
