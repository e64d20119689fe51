"""The page in a real browser: servers shared by all tests of a process, a browser context a visitor, an engine a test.

Console errors, page errors and outside requests fail the test.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import folders
from tests.browser.users import User
from tests.spec_ui.fake_engine import FakeEngine

ROOT = Path(__file__).resolve().parents[2]
# the headless shell draws the page and no browser around it, which costs a third less
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


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
def sites(tmp_path_factory):
    """The servers by their folder's name (folders.py), each started by the first test that visits it."""
    from tests.browser.sites import Site
    from tests.spec_ui.server.test_tuned import report

    started: dict[str, Site] = {}

    def site(kind: str) -> Site:
        if kind not in started:
            base, reports = tmp_path_factory.mktemp(kind.replace(" ", "-")), {}
            if kind in ("hostile", "none"):
                reports["reports"] = tmp_path_factory.mktemp("reports")
            if kind == "hostile":
                (reports["reports"] / "tune-early-exit.json").write_text(json.dumps(report(target="<b>T</b>")), encoding="utf-8")
            started[kind] = Site(folders.make(kind, base), **reports)
        return started[kind]

    yield site
    for one in started.values():
        one.close()


@pytest.fixture
def serve(sites) -> Callable:
    """serve(kind, engine) -> Site with this engine for the test; what runs on it at the end of the test is waited for."""
    used = []

    def start(kind: str = "few", engine: FakeEngine | None = None):
        site = sites(kind)
        site.begin(engine or FakeEngine())
        used.append(site)
        return site

    yield start
    for site in used:
        site.settle()


@pytest.fixture
def visit(browser, serve) -> Callable:
    """visit(site or its name, query="", ...) -> User, closed and checked at the end of the test. More keywords: User's and the context's."""
    users = []

    def start(site="few", query: str = "", ready: str = "#player .ss-tok", **more) -> User:
        site = serve(site) if isinstance(site, str) else site
        users.append(User(browser, site.url, **more))
        return users[-1].open(query, ready)

    yield start
    broken = []
    for user in users:
        try:
            user.close()
        except AssertionError as error:  # the others are closed all the same
            broken.append(error)
    if broken:
        raise broken[0]
