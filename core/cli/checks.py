"""`specscope check …`: what this machine can run, and how fast. Functions as in core.cli.commands."""
from __future__ import annotations

import argparse
import sys

from core.cli.output import check_writable, give
from core.errors import UserError


def gpu(args: argparse.Namespace) -> int:
    """Run every method on this GPU with random weights.
    Exit code 1 if a method's tokens were not plain decoding's, or a round waited for the device more than once."""
    import torch
    if not torch.cuda.is_available():
        raise UserError("This machine has no CUDA GPU that torch can use: there is nothing to check.")
    check_writable(args.json)
    from core.gpu_check import run
    result = run.check(torch.device("cuda", torch.cuda.current_device()), args.seconds, report=lambda m: print(m, file=sys.stderr))
    give(args.json, result, run.table(result))
    return 0 if run.passed(result) else 1


def machine(args: argparse.Namespace) -> int:
    """Measure which arithmetic is the fastest here, and what each method would draft in it."""
    check_writable(args.json)
    from core.cli.request import load_pair
    from core.runs import machine
    pair = load_pair(args, anew=True)
    with pair.enough():
        result = machine.check(pair)
    give(args.json, result, machine.table(result))
    return 0


def presets(args: argparse.Namespace) -> int:
    """List the ready pairs, and which of them fit this machine's GPU."""
    import torch

    from core.checkpoints import memory
    from core.checkpoints.presets import table
    print(table(memory.free_bytes(torch.device("cuda")) if torch.cuda.is_available() else None))
    return 0
