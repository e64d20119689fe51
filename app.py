"""Specscope's page: `python app.py [--host H] [--port N]`; without them GRADIO_SERVER_NAME and GRADIO_SERVER_PORT, else 127.0.0.1."""

import argparse
import sys

from core.runs.zerogpu import make_engine  # first: on ZeroGPU it imports `spaces`, which must come before anything of CUDA
from spec_ui.page import LAUNCH_KWARGS, build

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--host", help="address to listen on")
    options.add_argument("--port", type=int, help="port to listen on")
    args = options.parse_args()
    engine = make_engine()  # on ZeroGPU loaded now, elsewhere by start()
    page = build(engine)
    try:
        page.launch(server_name=args.host, server_port=args.port, prevent_thread_lock=True, **LAUNCH_KWARGS)
    except (OSError, OverflowError) as error:
        sys.exit(f"specscope: the page cannot be served there ({error}); choose another --port or --host.")
    engine.start()          # behind the page: recorded runs are on screen while the model loads
    page.block_thread()
