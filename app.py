"""Specscope's page in a checkout and on a Space: `python app.py [--host H] [--port N]` is `specscope page`."""

import sys

import core.runs.zerogpu  # noqa: F401 - first: on ZeroGPU it imports `spaces`, which must come before anything of CUDA
from core.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["page", *sys.argv[1:]]))
