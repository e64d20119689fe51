"""Serving the page: what `specscope page` and app.py do."""

from __future__ import annotations

import os
import socket

from core.errors import EnvironmentFailure
from core.runs.zerogpu import make_engine  # before Gradio: on ZeroGPU it imports `spaces`, which must come first


def serve(host: str | None, port: int | None) -> None:
    """Serve the page until Ctrl-C; the model loads meanwhile. host, port: where to listen, None: as GRADIO_SERVER_NAME and
    GRADIO_SERVER_PORT say, else 127.0.0.1 and the first free port from 7860 up. Raises EnvironmentFailure where it cannot listen."""
    host = host or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
    try_to_listen(host.strip("[]"), port or 0)
    _leave_the_proxy_out(host.strip("[]"))
    from spec_ui.page import LAUNCH_KWARGS, build  # seconds of imports, after an address that cannot be served was refused

    engine = make_engine()  # on ZeroGPU it is loaded now, elsewhere by start()
    page = build(engine)
    with_brackets = f"[{host}]" if ":" in host and not host.startswith("[") else host  # an IPv6 address as it stands in an address line
    try:
        page.launch(server_name=with_brackets, server_port=port, prevent_thread_lock=True, **LAUNCH_KWARGS)
    except OSError as error:  # Gradio found the port taken after all
        raise _refused(host, port or 0, "no port is free") from error
    engine.start()
    page.block_thread()


def try_to_listen(host: str, port: int) -> None:
    """Listens for a moment; port 0 is any. Raises EnvironmentFailure, one sentence: Gradio's own attempt ends in a page of traces."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":  # as the server does: a port that was left a moment ago is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except UnicodeError:
        raise _refused(host, port, "that is no host name") from None
    except OSError as error:
        raise _refused(host, port, (error.strerror or str(error)).lower()) from error


def _leave_the_proxy_out(host: str) -> None:
    """Gradio asks its own server whether it runs, which a proxy that is set for this machine could not answer."""
    kept = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join([*kept.split(","), "localhost", "127.0.0.1", host]).strip(",")


def _refused(host: str, port: int, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"The page cannot listen on {host}{f', port {port}' if port else ''} ({why}): choose another --host or --port.")
