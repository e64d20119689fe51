"""A script that must run before Gradio's own: `head=` comes too late for that, it reaches the page through Gradio's scripts."""

from __future__ import annotations

from typing import Any

from starlette.middleware import Middleware

from spec_ui.server import bundle


class FirstScript:
    """ASGI middleware: puts `script` at the top of every HTML page's head."""

    def __init__(self, app: Any, script: str) -> None:
        self.app, self.tag = app, f"<head><script>{script}</script>".encode()

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        start: dict[str, Any] | None = None

        async def out(message: dict) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_html(message["headers"]):
                start = message  # its length is known once the body is
            elif start is not None and message["type"] == "http.response.body":
                body = message.get("body", b"").replace(b"<head>", self.tag, 1)
                known = [(k, v) for k, v in start["headers"] if k != b"content-length"]
                length = [] if message.get("more_body") else [(b"content-length", str(len(body)).encode())]
                await send({**start, "headers": known + length})
                await send({**message, "body": body})
                start = None
            else:
                await send(message)

        await self.app(scope, receive, out if scope["type"] == "http" else send)


def _is_html(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(k.lower() == b"content-type" and v.startswith(b"text/html") for k, v in headers)


def quiet_frames() -> Middleware:
    return Middleware(FirstScript, script=bundle.inline("entry/quiet_frames.js", "quietFrames(window)"))
