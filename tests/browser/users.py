"""Serving the page to test visitors, and what a visitor can do and see."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

OPEN: list = []  # visitors still there


@contextmanager
def served(engine, folder: Path):
    from spec_ui.page import LAUNCH_KWARGS, build

    demo = build(engine, folder)
    _, url, _ = demo.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", **LAUNCH_KWARGS)
    try:
        yield url
    finally:
        for user in [u for u in OPEN if u.url == url]:  # before the server goes: a page left alone would complain
            user.close()
        demo.close(verbose=False)


class User:
    """One visitor: a context with one tab, and everything that went wrong in it."""

    def __init__(self, browser, url: str, **context):
        self.url, self.problems, self.requests = url, [], []
        OPEN.append(self)
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)  # the machine may be busy with something else
        self.page.on("console", lambda m: self.problems.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(f"page: {e}"))
        self.page.on("request", self._request)

    def _request(self, request) -> None:
        self.requests.append(f"{request.method} {request.url}")
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.problems.append(f"outside: {request.url}")

    def open(self, query: str = "", ready: str = "#player .ss-tok") -> User:
        self.page.goto(self.url + query)
        self.page.wait_for_selector(ready, timeout=60_000)
        return self

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def wait(self, expression: str, timeout: int = 45_000) -> None:
        self.page.wait_for_function(expression, timeout=timeout)

    def at(self) -> tuple[str, str]:
        """(round, phase) on screen, once the frame is drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return tuple(self.page.evaluate("() => { const d = document.querySelector('#player .ss-mount').dataset; return [d.round, d.phase]; }"))

    def sideways(self) -> bool:
        return self.page.evaluate("() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")

    def close(self) -> None:
        if self not in OPEN:
            return
        OPEN.remove(self)
        self.context.close()
        assert not self.problems, self.problems
