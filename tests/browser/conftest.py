"""The page in a real browser: one server a test module, one browser context a user. Console errors, page errors and outside requests fail."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)


def pytest_collection_modifyitems(items):
    if CHROMIUM is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(
                    pytest.mark.skip(reason="No Chromium on PATH: apt-get install chromium (or install Chrome) to run the browser tests.")
                )


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


@pytest.fixture
def visit(browser):
    """visit(url, query="", **context options) -> User, closed and checked at the end of the test."""
    from tests.browser.users import User

    users = []

    def start(url: str, query: str = "", ready: str = "#player .ss-tok", **context) -> User:
        users.append(User(browser, url, **context))
        return users[-1].open(query, ready)

    yield start
    for user in users:
        user.close()
