"""The options of every command. Each function adds those of one command to its parser and names the function that does the work."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from core.assets import ASSETS
from core.cli import checks, commands
from core.cli.values import draft_len, port, whole
from core.errors import UserError
from core.train import main as train


class Parser(argparse.ArgumentParser):
    """Raises UserError with one sentence, where argparse prints the usage and exits; takes no shortened options."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[:1].upper()}{message[1:]} (see {self.prog} --help).")


def parser(argv: Sequence[str] | None = None) -> Parser:
    """The whole command line. With `argv` only the command that it names gets its options: those of `run` and `compare` are the
    methods' own, which takes importing torch, and `specscope page --help` should not wait for that."""
    top = Parser(prog="specscope", description="Speculative decoding, done for real and shown round by round.")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    named = None if argv is None else next((arg for arg in argv if not arg.startswith("-")), "")
    for name, (summary, fill) in COMMANDS.items():
        command = sub.add_parser(name, help=summary)
        if named in (None, name):
            fill(command)
    return top


def _run(p: Parser) -> None:
    _decoding_options(p)
    p.add_argument("--method", help="how tokens are proposed: draft, plain, … (default draft, or what a ready pair is for)")
    p.add_argument("--json", metavar="FILE", help="write the trace: .json, .ndjson (a line a round), or - for stdout")
    p.add_argument("--costs", metavar="FILE", help="take these costs (a trace, or its run.costs) instead of measuring: --draft-len auto repeats")
    p.add_argument("--baseline", action="store_true", help="then measure plain decoding of the same prompt and tokens")
    p.add_argument("--no-tables", action="store_true", help="do not record the two distributions at every position")
    p.set_defaults(act=commands.run)


def _compare(p: Parser) -> None:
    _decoding_options(p)
    p.add_argument("--methods", help="comma-separated, e.g. draft,lookup (default draft, or what a ready pair is for)")
    p.add_argument("--repeats", type=whole, default=3, metavar="N", help="timed runs of each (default 3)")
    _json_option(p)
    p.set_defaults(act=commands.compare)


def _page(p: Parser) -> None:
    p.add_argument("--host", help="address to listen on (default: GRADIO_SERVER_NAME, else 127.0.0.1)")
    p.add_argument("--port", type=port, help="port to listen on (default: GRADIO_SERVER_PORT or 7860, or the next free one)")
    p.set_defaults(act=commands.page)


def _traces(p: Parser) -> None:
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=Parser)
    prepare = what.add_parser("prepare", help="fetch and convert the embedded target now, e.g. before a workshop")
    prepare.set_defaults(act=commands.traces_prepare)
    record = what.add_parser("record", help="make the shipped recordings anew, from assets/prompts/recordings.toml")
    _model_options(record)
    record.add_argument("--out", default=str(ASSETS / "traces"), metavar="FOLDER", help="default: the shipped ones")
    record.add_argument("--only", metavar="NAME", help="one of them, e.g. chat-draft")
    record.set_defaults(act=commands.traces_record)
    show = what.add_parser("show", help="print a recorded run as `run` would have")
    show.add_argument("file")
    show.set_defaults(act=commands.traces_show)


def _bench(p: Parser) -> None:
    _model_options(p)
    _json_option(p)
    p.set_defaults(act=commands.bench)


def _check(p: Parser) -> None:
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT", parser_class=Parser)
    gpu = what.add_parser("gpu", help="every method on this GPU with random weights: identity, waits, costs (needs torch alone)")
    _json_option(gpu)
    gpu.add_argument("--seconds", type=whole, default=420, metavar="N", help="time to spend at most (default 420)")
    gpu.set_defaults(act=checks.gpu)
    here = what.add_parser("machine", help="which arithmetic is the fastest here, measured anew, and what each method would draft")
    _model_options(here)
    _json_option(here)
    here.set_defaults(act=checks.machine)
    ready = what.add_parser("presets", help="the ready pairs by size of GPU, with licences and what fits here")
    ready.set_defaults(act=checks.presets)


def _tune(p: Parser) -> None:
    p.add_argument("what", choices=["draft", "early-exit", "eagle", "medusa", "lookup", "acceptance"], metavar="METHOD",
                   help="draft, eagle, medusa: chains and trees; early-exit: which layers the draft may skip; lookup: draft lengths; "
                   "acceptance: what --draft-len auto starts from, for all methods")
    _model_options(p)
    p.add_argument("--prompts", type=whole, default=3, metavar="N", help="how many of the example prompts (default 3)")
    p.add_argument("--max-new-tokens", type=whole, default=48, metavar="N", help="default 48")
    p.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default 0)")
    _json_option(p)
    p.set_defaults(act=commands.tune)


def _train(p: Parser) -> None:
    train.add_arguments(p)
    p.set_defaults(act=train.main)


COMMANDS = {
    "run": ("decode one prompt; print the text coloured by origin, or the trace", _run),
    "compare": ("plain and speculative decoding interleaved on the same work", _compare),
    "page": ("start the page: recorded runs at once, live runs when the model is loaded", _page),
    "traces": ("prepare the model cache, or look at recorded runs", _traces),
    "bench": ("this machine's figures: against transformers, cost of a pass, cost of recording", _bench),
    "check": ("what this machine can run, and how fast", _check),
    "tune": ("measure a method's choices on this target and machine", _tune),
    "train": ("train a draft for a target on text that the target writes", _train),
}


def _json_option(p: Parser) -> None:
    p.add_argument("--json", metavar="FILE", help="write the figures as JSON, - for stdout")


def _model_options(p: Parser) -> None:
    p.add_argument("--pair", default="smollm2", help="a known pair (default smollm2: the embedded target and its drafts; list: check presets)")
    p.add_argument("--target", metavar="PATH_OR_ID", help="instead of a pair: checkpoint folder, .gguf file or Hub id")
    p.add_argument("--draft", metavar="PATH_OR_ID", help="draft model or draft head for --target")
    p.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default auto)")
    p.add_argument("--dtype", default="auto", help="auto (measured on this machine), float32, float64, bfloat16, float16; on a CPU also the "
                   "row-exact w16a32, w8a16, w4a16 (bits of weights and activations); int8, int4: the target's layers by torchao or bitsandbytes")
    p.add_argument("--quantize", metavar="BITS", help=argparse.SUPPRESS)          # old name of --dtype int8 and int4
    p.add_argument("--threads", type=whole, metavar="N", help="CPU threads (default: measured at start)")


def _decoding_options(p: Parser) -> None:
    from core.methods import registry
    _model_options(p)
    p.add_argument("--prompt", metavar="TEXT", help="one user turn, put through the chat template; - reads it from stdin")
    p.add_argument("--prompt-ids", metavar="IDS", help="token ids instead of text: 1,5,9")
    p.add_argument("--system", metavar="TEXT", help="system turn")
    p.add_argument("--raw", action="store_true", help="skip the chat template")
    p.add_argument("--draft-len", type=draft_len, metavar="K",
                   help="tokens drafted a round, auto, constant or heuristic (default auto: what is expected to be fastest here)")
    p.add_argument("--verify", default="chain", help="chain: token by token; block: the whole draft by one joint acceptance; coupled: one seed, one "
                   "text for all methods, also sampled (default chain)")
    p.add_argument("--typical", dest="verify", action="store_const", const="typical",
                   help="typical acceptance (Medusa): LOSSY, accepts what the target finds likely enough")
    p.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default 0)")
    p.add_argument("--top-k", type=whole, default=0, help="0 is off (default 0)")
    p.add_argument("--top-p", type=float, default=1.0, help="1 is off (default 1)")
    p.add_argument("--min-p", type=float, default=0.0, help="0 is off (default 0)")
    p.add_argument("--repetition-penalty", type=float, default=1.0, help="1 is off (default 1)")
    p.add_argument("--seed", type=whole, default=0, help="default 0; a sampled run repeats with a fixed --draft-len, the same --costs, or with "
                   "--verify coupled")
    p.add_argument("--max-new-tokens", type=whole, default=96, metavar="N", help="default 96")
    p.add_argument("--stop", action="append", default=[], metavar="TEXT", help="stop string; may be given several times")
    p.add_argument("--json-schema", metavar="FILE", help="structured output: JSON that the schema in this file, or given as JSON itself, "
                   "allows")
    p.add_argument("--regex", metavar="PATTERN", help="structured output: a text that this pattern matches as a whole")
    p.add_argument("--choice", action="append", default=[], metavar="A,B,…", help="structured output: one of these texts; given several "
                   "times, each is one text, commas and all")
    p.add_argument("--ignore-eos", action="store_true", help="go on behind the end-of-text token")
    p.add_argument("--no-graphs", dest="graphs", action="store_const", const=False, help="with CUDA: launch each kernel by itself, capture nothing")
    for setting in registry.all_settings().values():
        kind = {"action": "store_true", "default": None} if setting.kind is bool else {"metavar": setting.kind.__name__.upper()}
        p.add_argument(setting.flag, help=f"{setting.help} ({registry.default_words(setting.name)})", **kind)
