"""Live runs against a stand-in engine: streaming, Stop, refusals, failures, and a crowd."""

import time

import pytest

from core.errors import EnvironmentFailure, UserError
from tests.browser.users import User, served
from tests.spec_ui.fake_engine import FakeEngine

DONE = (
    "() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'"
    " && document.querySelector('.ss-caption').textContent.startsWith('Live run')"
)
LIVE = "() => document.querySelector('.ss-caption')?.textContent.startsWith('Live run')"


@pytest.fixture
def live(traces, visit, request):
    """(engine, user) for the FakeEngine options the test is parametrised with."""
    engine = FakeEngine(**getattr(request, "param", {}))
    with served(engine, traces) as url:
        user = visit(url)
        yield engine, user


def notice(user) -> str:
    return user.text("#notice .ss-notice")


@pytest.mark.parametrize("live", [{"pace": 0.15}], indirect=True)
def test_a_live_run_streams_and_ends_measured(live):
    engine, user = live
    user.page.locator("#prompt textarea").fill("Say something about rain.")
    user.page.locator("#seed input").fill("5")
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.wait("() => document.querySelector('.ss-badge') && !document.querySelector('.ss-badge').hidden")  # estimate while it streams
    user.wait(DONE)
    user.wait("() => document.querySelector('#notice').textContent.includes('Done')")
    assert user.page.locator(".ss-badge").is_hidden()
    asked = engine.requests[-1]
    assert (asked.prompt, asked.seed, asked.method, asked.baseline) == ("Say something about rain.", 5, "draft", True)
    assert user.at()[0] == user.page.get_attribute(".ss-scrub", "aria-valuemax"), "the player follows the run to its end"
    user.page.locator("#stop").click()
    user.page.wait_for_timeout(500)
    assert "Done" in notice(user), "nothing was left to stop"


@pytest.mark.parametrize("live", [{"pace": 0.25}], indirect=True)
def test_stop_ends_the_run_within_a_round(live):
    engine, user = live
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.wait("() => document.querySelectorAll('.ss-ticks i').length >= 3")
    user.page.locator("#stop").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('Stopped')")
    deadline = time.monotonic() + 3
    while engine.running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (engine.running, engine.closed, engine.finished) == (0, 1, 0)
    user.page.locator("#run").click()  # and another run can start
    user.wait("() => document.querySelectorAll('.ss-ticks i').length <= 2 && document.querySelector('#notice').textContent.includes('Running')")


@pytest.mark.parametrize("live", [{"pace": 0.25}], indirect=True)
def test_closing_the_tab_ends_the_run(live):
    engine, user = live
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.page.close()
    deadline = time.monotonic() + 8
    while engine.running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert engine.running == 0 and engine.finished == 0


def test_a_blank_prompt_is_refused_in_words(live):
    engine, user = live
    user.page.locator("#prompt textarea").fill("   ")
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('Write a prompt first')")
    user.page.locator("#prompt textarea").fill("x" * 4001)
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('4001 characters')")
    user.page.locator("#prompt textarea").fill("hello")
    user.page.locator("#seed input").fill("-3")
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('Seed must be')")
    assert engine.requests == []
    assert user.page.locator("#notice .ss-notice").get_attribute("role") == "alert"


@pytest.mark.parametrize("live", [{"phase": "loading", "progress": 0.4}], indirect=True)
def test_run_before_the_model_is_ready(live):
    engine, user = live
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('not ready yet (40 %)')")
    engine._state.phase = "ready"
    user.wait("() => document.querySelector('#model-state').textContent.includes('is ready')")
    user.page.wait_for_timeout(1300)
    polls = len(user.requests)
    user.page.wait_for_timeout(2500)
    assert len(user.requests) - polls <= 1, "the page stops asking once the model is there"


@pytest.mark.parametrize(
    "live",
    [
        {"fail": UserError("This prompt is longer than the model's context of 2048 tokens.")},
        {"fail": EnvironmentFailure("The machine ran out of memory.")},
        {"fail": RuntimeError("secret detail")},
    ],
    indirect=True,
)
def test_a_failure_is_one_sentence(live):
    engine, user = live
    user.page.locator("#run").click()
    expected = "The run failed on the server" if isinstance(engine.fail, RuntimeError) else str(engine.fail)
    user.page.wait_for_function("text => document.querySelector('#notice').textContent.includes(text)", arg=expected)
    assert "secret" not in user.page.inner_text("body") and "Traceback" not in user.page.inner_text("body")


@pytest.mark.parametrize("visitors", [8, pytest.param(30, marks=pytest.mark.long)])
def test_many_visitors_press_run_at_once(browser, traces, visitors):
    """One context a visitor. In the normal suite eight with short runs; thirty with -m long."""
    engine = FakeEngine(pace=0.001)
    with served(engine, traces) as url:
        users = [User(browser, url) for _ in range(visitors)]
        for user in users:  # that many times 5 MB of Plotly on two cores would test the machine, not the page
            user.page.route(
                "**/plotly.min.js", lambda route: route.fulfill(content_type="text/javascript", body="window.Plotly = { react() {}, purge() {} };")
            )
            user.open()
            user.page.locator("#max-new input[type=number]").fill("12")
        for user in users:
            user.page.locator("#run").click(no_wait_after=True)
        for user in users:
            user.wait(
                f"() => ({DONE})() || document.querySelector('#notice .ss-notice').dataset.kind === 'error' || document.querySelector('.toast-body')",
                timeout=60_000,
            )
        finished = sum(user.page.evaluate(DONE) for user in users)
        for user in users:
            user.close()
    assert finished == engine.finished == visitors
    assert engine.most == 1, "one decode at a time"
    assert engine.running == 0


def test_waiting_and_a_full_queue_are_said_in_words(browser, traces, monkeypatch):
    monkeypatch.setattr("spec_ui.page.WAITING", 1)
    engine = FakeEngine(pace=0.3)
    with served(engine, traces) as url:
        users = [User(browser, url).open() for _ in range(3)]
        users[0].page.locator("#run").click()
        users[0].wait(LIVE)
        users[1].page.locator("#run").click()
        users[1].wait("() => document.querySelector('#notice').textContent.includes('place 1 of 1 in the queue')")
        users[2].page.locator("#run").click()
        users[2].page.wait_for_selector(".toast-body")
        assert "busy" in users[2].text(".toast-body")
        # A full queue leaves everything else alone: examples and stepping still work.
        users[2].page.get_by_label("list", exact=True).check(force=True)
        users[2].wait("() => document.querySelector('#prompt textarea').value.startsWith('List five')")
        users[2].problems = [p for p in users[2].problems if "503" not in p]  # the browser's own line about the refusal
        for user in users:
            user.page.locator("#stop").click()
        for user in users:
            user.close()


def test_on_a_phone_the_run_comes_into_view_as_it_begins(traces, visit):
    with served(FakeEngine(pace=0.3), traces) as url:
        user = visit(url, viewport={"width": 360, "height": 740})
        user.page.locator("#run").scroll_into_view_if_needed()
        assert user.page.evaluate("() => document.querySelector('#player .ss-body').getBoundingClientRect().top") < -80
        user.page.locator("#run").click()
        user.wait("() => { const y = document.querySelector('#player .ss-body').getBoundingClientRect().top; return y > -80 && y < 450; }")
        user.wait(LIVE)
        assert user.page.get_attribute("#player .ss-mount", "data-complete") == "no", "not only when it has ended"
