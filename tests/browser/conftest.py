"""The page in a real browser: one server a test module, one browser context a user. Console errors, page errors and outside requests fail."""
from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)


def pytest_collection_modifyitems(items):
    if CHROMIUM is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="No Chromium on PATH: apt-get install chromium (or install Chrome) to run the browser tests."))


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> Path:
    from tests.spec_ui import fake_trace

    folder = tmp_path_factory.mktemp("traces")
    for name, options in {"chat-draft": {}, "list-draft": {"temperature": 0}, "story-draft": {"temperature": 0, "tree": True}}.items():
        (folder / f"{name}.json").write_text(json.dumps(fake_trace.make(prompt=f"prompt of {name}", **options)), encoding="utf-8")
    return folder


@contextmanager
def served(engine, folder: Path):
    from spec_ui.page import LAUNCH_KWARGS, build

    demo = build(engine, folder)
    _, url, _ = demo.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", **LAUNCH_KWARGS)
    try:
        yield url
    finally:
        for user in [u for u in OPEN if u.url == url]:   # before the server goes: a page left alone would complain
            user.close()
        demo.close(verbose=False)


OPEN: list = []


class User:
    """One visitor: a context with one tab, and everything that went wrong in it."""

    def __init__(self, browser, url: str, **context):
        self.url, self.problems, self.requests = url, [], []
        OPEN.append(self)
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.problems.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(f"page: {e}"))
        self.page.on("request", self._request)

    def _request(self, request) -> None:
        self.requests.append(f"{request.method} {request.url}")
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.problems.append(f"outside: {request.url}")

    def open(self, query: str = "", ready: str = "#player .ss-tok") -> "User":
        self.page.goto(self.url + query)
        self.page.wait_for_selector(ready, timeout=20_000)
        return self

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def wait(self, expression: str, timeout: int = 15_000) -> None:
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


@pytest.fixture
def visit(browser):
    """visit(url, query="", **context options) -> User, closed and checked at the end of the test."""
    users = []

    def start(url: str, query: str = "", ready: str = "#player .ss-tok", **context) -> User:
        users.append(User(browser, url, **context))
        return users[-1].open(query, ready)

    yield start
    for user in users:
        user.close()
