"""Live runs against a stand-in engine: streaming, Stop, refusals, failures, and a crowd."""

import time

import pytest

from core.errors import EnvironmentFailure, UserError
from tests.browser.users import LIMIT_S
from tests.spec_ui.fake_engine import FakeEngine

DONE = (
    "() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'"
    " && document.querySelector('.ss-caption').textContent.startsWith('Live run')"
)
LIVE = "() => document.querySelector('.ss-caption')?.textContent.startsWith('Live run')"
ROUNDS = "n => document.querySelectorAll('.ss-ticks i').length >= n"


def until(condition) -> None:
    """Waits for something on the server."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_live_run_streams_and_ends_measured(visit, serve):
    site = serve(engine=FakeEngine(pace=0.1))
    user = visit(site)
    user.page.locator("#prompt textarea").fill("Say something about rain.")
    user.page.locator("#seed input").fill("5")
    user.page.locator("#max-new input[type=number]").fill("30")
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.wait("() => document.querySelector('.ss-badge') && !document.querySelector('.ss-badge').hidden")  # estimate while it streams
    user.wait(DONE)
    user.says("#notice", "Done")
    assert user.page.locator(".ss-badge").is_hidden()
    asked = site.engine.requests[-1]
    assert (asked.prompt, asked.seed, asked.method, asked.baseline) == ("Say something about rain.", 5, "draft", True)
    assert user.at()[0] == user.page.get_attribute(".ss-scrub", "aria-valuemax"), "the player follows the run to its end"
    with user.page.expect_response("**/gradio_api/run/**"):
        user.page.locator("#stop").click()
    user.drawn()
    assert "Done" in user.text("#notice .ss-notice"), "nothing was left to stop"


def test_stop_ends_the_run_within_a_round(visit, serve):
    engine = FakeEngine(pace=0.25)
    user = visit(serve(engine=engine))
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.wait(ROUNDS, 3)
    user.page.locator("#stop").click()
    user.says("#notice", "Stopped")
    until(lambda: not engine.running)
    assert (engine.closed, engine.finished) == (1, 0)
    user.page.locator("#run").click()  # and another run can start
    user.wait("() => document.querySelectorAll('.ss-ticks i').length <= 2 && document.querySelector('#notice').textContent.includes('live run')")


def test_closing_the_tab_ends_the_run(visit, serve):
    engine = FakeEngine(pace=0.25)
    user = visit(serve(engine=engine))
    user.page.locator("#run").click()
    user.wait(LIVE)
    user.page.close()
    until(lambda: not engine.running)
    assert engine.finished == 0


def test_a_blank_prompt_is_refused_in_words_and_a_failure_is_one_sentence(visit, serve):
    site = serve()
    user = visit(site)
    user.page.locator("#prompt textarea").fill("   ")
    user.page.locator("#run").click()
    user.says("#notice", "Write a prompt first")
    user.page.locator("#prompt textarea").fill("x" * 4001)
    user.page.locator("#run").click()
    user.says("#notice", "4001 characters")
    user.page.locator("#prompt textarea").fill("hello")
    user.page.locator("#seed input").fill("-3")
    user.page.locator("#run").click()
    user.says("#notice", "Seed must be")
    assert site.engine.requests == []
    assert user.page.locator("#notice .ss-notice").get_attribute("role") == "alert"
    user.page.locator("#seed input").fill("3")
    long = "This prompt is longer than the model's context of 2048 tokens."
    for fail, said in (
        (UserError(long), long),
        (EnvironmentFailure("The machine ran out of memory."), "The machine ran out of memory."),
        (RuntimeError("secret detail"), "The run failed on the server"),
    ):
        site.engine.fail = fail
        user.page.locator("#run").click()
        user.says("#notice", said)
        assert "secret" not in user.page.inner_text("body") and "Traceback" not in user.page.inner_text("body")


def test_run_before_the_model_is_ready(visit, serve):
    engine = FakeEngine(phase="loading", progress=0.4)
    user = visit(serve(engine=engine))
    user.page.locator("#run").click()
    user.says("#notice", "not ready yet (40 %)")
    engine._state.phase = "ready"
    user.says("#model-state", "is ready")


def test_the_page_stops_asking_once_the_model_is_there(visit, serve):
    engine = FakeEngine(phase="loading")
    user = visit(serve(engine=engine), clock=True)
    polls = len(user.requests)
    user.page.clock.run_for(3000)
    user.quiet()
    assert len(user.requests) > polls, "it asks while the model is loading"
    engine._state.phase = "ready"
    user.page.clock.run_for(1500)
    user.says("#model-state", "is ready")
    user.quiet()
    polls = len(user.requests)
    user.page.clock.run_for(5000)
    user.quiet()
    assert len(user.requests) - polls <= 1


@pytest.mark.parametrize("visitors", [3, pytest.param(30, marks=pytest.mark.long)])
def test_many_visitors_press_run_at_once(visit, serve, visitors):
    """In the normal suite three with short runs; thirty with -m long."""
    engine = FakeEngine(pace=0.001)
    site = serve(engine=engine)
    users = [visit(site) for _ in range(visitors)]
    for user in users:
        user.page.locator("#max-new input[type=number]").fill("12")
    for user in users:
        user.page.locator("#run").click(no_wait_after=True)
    for user in users:
        user.wait(
            f"() => ({DONE})() || document.querySelector('#notice .ss-notice').dataset.kind === 'error' || document.querySelector('.toast-body')"
        )
    finished = sum(user.page.evaluate(DONE) for user in users)
    assert finished == engine.finished == visitors
    assert engine.most == 1, "one decode at a time"
    assert engine.running == 0


def test_waiting_and_a_full_queue_are_said_in_words(visit, serve, monkeypatch):
    site = serve(engine=FakeEngine(pace=0.3))
    monkeypatch.setattr(site.queue, "max_size", 1)
    users = [visit(site) for _ in range(3)]
    users[0].page.locator("#run").click()
    users[0].wait(LIVE)
    users[1].page.locator("#run").click()
    users[1].says("#notice", "place 1 of 1 in the queue")
    users[2].page.locator("#run").click()
    users[2].page.wait_for_selector(".toast-body")
    assert "busy" in users[2].text(".toast-body")
    # A full queue leaves everything else alone: examples and stepping still work.
    users[2].page.get_by_label("list", exact=True).check(force=True)
    users[2].wait("() => document.querySelector('#prompt textarea').value.startsWith('List five')")
    users[2].problems = [p for p in users[2].problems if "503" not in p]  # the browser's own line about the refusal


def test_on_a_phone_the_run_comes_into_view_as_it_begins(visit, serve):
    user = visit(serve(engine=FakeEngine(pace=0.3)), viewport={"width": 360, "height": 740}, reduced_motion="no-preference")
    user.page.locator("#run").scroll_into_view_if_needed()
    assert user.page.evaluate("() => document.querySelector('#player .ss-body').getBoundingClientRect().top") < -80
    user.page.locator("#run").click()
    user.wait("() => { const y = document.querySelector('#player .ss-body').getBoundingClientRect().top; return y > -80 && y < 450; }")
    user.wait(LIVE)
    assert user.page.get_attribute("#player .ss-mount", "data-complete") == "no", "not only when it has ended"
