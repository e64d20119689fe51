"""Specscope's page: `python app.py [--host H] [--port N]`; without them GRADIO_SERVER_NAME and GRADIO_SERVER_PORT, else 127.0.0.1."""

import argparse

from core.engine import Engine
from spec_ui.page import LAUNCH_KWARGS, build

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--host", help="address to listen on")
    options.add_argument("--port", type=int, help="port to listen on")
    args = options.parse_args()
    engine = Engine()
    engine.start()
    build(engine).launch(server_name=args.host, server_port=args.port, **LAUNCH_KWARGS)
