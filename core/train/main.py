"""The options of `specscope train`. core.train.job does the work; it loads torch, so it is imported only for a run."""
from __future__ import annotations

import argparse

KINDS = ("draft", "eagle", "medusa")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to the command's parser."""
    add = parser.add_argument
    add("kind", choices=KINDS, help="a small draft model, an EAGLE-3 head or Medusa heads")
    add("--target", metavar="PATH_OR_ID", help="the model to draft for (default: the embedded SmolLM2-135M)")
    add("--data", nargs="+", default=[], metavar="FILE",
        help='texts the target wrote: JSON lines {"p": [prompt ids], "g": [written ids]}, .gz or not')
    add("--generate", type=_count, default=0, metavar="N", help="let the target write N texts first, from the prompts in assets/")
    add("--out", required=True, metavar="DIR", help="the draft, its checkpoint and training.json")
    add("--cache", metavar="DIR", help="the target's features, several kB a token; may serve several runs (default DIR/cache)")
    add("--tokens", type=_count, default=1_000_000, metavar="N", help="tokens to see in all, repetitions included (default 1000000)")
    add("--batch", type=_count, default=4, metavar="N", help="texts a step (default 4)")
    add("--vocab-size", type=_count, metavar="N", help="ids the draft can propose, by frequency (default 6000)")
    add("--layers", type=_layers, default=[0, 1], metavar="I,J", help="draft: the target's layers it is made of (default 0,1)")
    add("--neurons", type=_count, metavar="N", help="draft, eagle: MLP neurons per layer (default 640; eagle 1024)")
    add("--aux-layers", "--taps", type=_layers, metavar="I,J,K",
        help="eagle: layers whose inputs the head reads (default 2, the middle, the last)")
    add("--heads", type=_count, default=4, metavar="N", help="medusa: tokens drafted a round (default 4)")
    add("--optimizer", choices=("muon", "adamw"), help="of the matrices (default muon; eagle adamw)")
    add("--matrix-lr", type=_rate, help="peak learning rate of the matrices (default 0.02 with muon, 0.0004 with adamw)")
    add("--rest-lr", type=_rate, help="peak learning rate of the rest (default 0.001; eagle 0.0005)")
    add("--tv", type=_weight, default=0.0, help="weight of the rejected share beside the KL term (default 0)")
    add("--seed", type=_seed, default=0, help="of generation and of the order of texts (default 0)")
    add("--measure-every", type=_count, default=50_000, metavar="N", help="tokens between two held-out measurements (default 50000)")
    add("--resume", action="store_true", help="go on from the checkpoint in --out; with a larger --tokens also after the end")
    add("--device", default="auto", help="cpu, cuda, … (default auto)")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 13 or int(text) > 10 ** 12:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 10^12, not {text!r}")
    return int(text)


def _rate(text: str) -> float:
    """A learning rate that float32 weights notice."""
    return _between(text, 1e-10, 1.0)


def _weight(text: str) -> float:
    return _between(text, 1e-10, 1000.0, zero=True)


def _between(text: str, low: float, high: float, zero: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high and not (zero and value == 0):
        raise argparse.ArgumentTypeError(f"must be {'0 or ' if zero else ''}a number from {low} to {high}, not {text!r}")
    return value


def _layers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be layer numbers with commas between, not {text!r}") from None


def main(args: argparse.Namespace) -> int:
    """Run the command. Returns the exit code; errors as in core.train.job.run."""
    from core.train.job import run
    return run(args)
