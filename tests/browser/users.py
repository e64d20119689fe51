"""What a visitor can do and see, and everything that went wrong meanwhile."""

from __future__ import annotations

import re
import time

from spec_ui import words

LIMIT_S = 180  # bounds a hang and decides nothing: every wait ends when its condition holds, on a slow machine too
STREAMS = ("/heartbeat/", "/queue/data")  # these requests stay open
NOT_NEEDED = "net::ERR_BLOCKED_BY_CLIENT"


class User:
    """One visitor: a browser context of its own with one tab. `plotly`: whether the chart library may be fetched; it is as large as the rest of
    the page, and without it the player draws its chart by hand. Motion is reduced unless a test asks for it: nothing is worth waiting for that
    only glides into place."""

    def __init__(self, browser, url: str, plotly: bool = False, clock: bool = False, **context) -> None:
        """`clock`: the page's timers can be moved on by page.clock.run_for(milliseconds)."""
        self.url, self.problems, self.requests, self.closed = url, [], [], False
        self._under_way: set = set()
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(LIMIT_S * 1000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda e: self.problems.append(f"page: {e}"))
        self.page.on("request", self._request)
        for over in ("requestfinished", "requestfailed"):
            self.page.on(over, lambda request: self._under_way.discard(request))
        if clock:
            self.page.clock.install()
        if not plotly:
            session = self.context.new_cdp_session(self.page)
            session.send("Network.enable")
            session.send("Network.setBlockedURLs", {"urls": ["*/plotly.min.js"]})

    def _console(self, message) -> None:
        if message.type == "error" and NOT_NEEDED not in message.text:
            self.problems.append(f"console: {message.text}")

    def _request(self, request) -> None:
        self.requests.append(f"{request.method} {request.url}")
        if not any(part in request.url for part in STREAMS):
            self._under_way.add(request)
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.problems.append(f"outside: {request.url}")

    def open(self, query: str = "", ready: str = "#player .ss-tok") -> User:
        self.page.goto(self.url + query)
        self.page.wait_for_selector(ready)
        return self

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def wait(self, expression: str, arg=None) -> None:
        self.page.wait_for_function(expression, arg=arg)

    def says(self, selector: str, text: str) -> None:
        """Waits until the text stands there."""
        self.wait("([at, text]) => document.querySelector(at)?.textContent.includes(text)", [selector, text])

    def drawn(self) -> None:
        """Two frames later: what was asked for is on screen."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def quiet(self) -> None:
        """Waits until nothing that the page asked for is still under way."""
        self.drawn()
        end = time.monotonic() + LIMIT_S
        while self._under_way:
            assert time.monotonic() < end, self._under_way
            self.drawn()

    def at(self) -> tuple[str, str]:
        """(round, phase) on screen, once the frame is drawn."""
        self.drawn()
        return tuple(self.page.evaluate("() => { const d = document.querySelector('#player .ss-mount').dataset; return [d.round, d.phase]; }"))

    def model_ready(self) -> None:
        """Waits until the page has heard that the live model is there, and so asks no more."""
        self.wait(r"() => /ready|загружена/.test(document.querySelector('#model-state')?.textContent ?? '')")

    def sideways(self) -> bool:
        """Whether the page scrolls sideways."""
        self.drawn()
        return self.page.evaluate("() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")

    def resize(self, width: int, height: int = 740) -> None:
        self.page.set_viewport_size({"width": width, "height": height})
        self.drawn()

    def go(self, tab: str, ready: str) -> None:
        """To a tab by its name in the address, also where it has moved into the menu of a narrow window; `ready` is then in sight."""
        button = self.page.locator(f'.ss-tabs [role=tab][data-tab-id="{tab}"]')
        if button.count() and button.first.is_visible():
            button.first.click()
        else:
            name = words.text(self.page.get_attribute("html", "lang"), f"tab.{tab}")
            self.page.locator(".ss-tabs .overflow-menu > button").first.click()
            self.page.locator(".ss-tabs .overflow-dropdown button").filter(has_text=re.compile(rf"^\s*{re.escape(name)}\s*$")).first.click()
        self.page.wait_for_selector(f"{ready}:visible")

    def number(self, selector: str, attribute: str) -> float:
        return float(self.page.locator(selector).first.get_attribute(attribute))

    def close(self) -> None:
        """Leaves, and fails if anything went wrong on the page."""
        if not self.closed:
            self.closed = True
            self.context.close()
            assert not self.problems, self.problems
