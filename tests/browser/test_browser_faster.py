"""The tab "Why it is faster, and when not": costs of the recording and of this machine, the closed form, a run as a point."""

import json

import pytest

from core.measuring import theory
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import CALIBRATION, FakeEngine

ROOT = "#faster"


@pytest.fixture
def started(visit, serve):
    """started(engine, folder) -> a visitor on the tab."""

    def start(engine=None, folder="few", **more):
        user = visit(serve(folder, engine), **more)
        user.go("faster", f"{ROOT} .ss-plotbox svg")
        user.wait("() => document.querySelector('#faster .ss-model').dataset.speed")
        return user

    return start


def set_slider(user, key: str, value: float) -> float:
    user.page.locator(f"{ROOT} input[data-key={key}]").evaluate(
        "(n, v) => { n.value = v; n.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )
    user.at()
    return user.number(f"{ROOT} .ss-model", "data-speed")


def measured(user) -> None:
    user.page.locator("[data-act=measure]").click()
    user.wait("() => document.querySelector('#faster [data-act=measure]').textContent === 'Measure again'")


def test_this_machine_is_measured_only_when_asked_and_once(started):
    engine = FakeEngine()
    user = started(engine)
    user.at()
    assert engine.asked == [] and "Passes are timed here only when you press this" in user.text(f"{ROOT} .ss-besides")
    measured(user)
    assert engine.asked == [False]
    assert user.text(f"{ROOT} .ss-chartgrid .ss-sub").startswith("Measured on this machine: cpu, one thread.")
    assert "270 MB" in user.text(f"{ROOT} .ss-besides .ss-note") and "75 % of a pass" in user.text(f"{ROOT} .ss-besides .ss-note")
    assert "weights ÷ memory speed" in user.page.locator(f"{ROOT} .ss-chart").first.text_content()
    user.page.locator(f"{ROOT} .ss-chartgrid summary").click()
    user.page.wait_for_selector(f"{ROOT} .ss-chartgrid details[open] tbody tr")
    assert user.page.locator(f"{ROOT} .ss-chartgrid tbody tr").count() == 6
    user.page.locator("[data-act=measure]").click()
    user.wait("() => !document.querySelector('#faster [data-act=measure]').disabled")
    assert engine.asked == [False], "within 20 seconds the last measurement answers"


class Busy(FakeEngine):
    """A machine that did something else while one token was timed."""

    def calibration(self, redo: bool = False) -> dict:
        return super().calibration(redo) | {"pass_s": {"1": 0.05, "2": 0.03, "5": 0.04, "8": 0.06}}


def test_times_that_cannot_be_true_are_refused(started):
    user = started(Busy())
    user.page.wait_for_selector(f"{ROOT} .ss-diamond")  # the recording is in
    speed, chart = user.number(f"{ROOT} .ss-model", "data-speed"), user.page.locator(f"{ROOT} .ss-chart").first.get_attribute("aria-label")
    measured(user)
    assert user.text(f"{ROOT} .ss-measuring").startswith("Not used: a pass over 2 tokens was timed at 0.60 times a pass over one")
    assert user.number(f"{ROOT} .ss-model", "data-speed") == speed
    assert user.page.locator(f"{ROOT} .ss-chart").first.get_attribute("aria-label") == chart
    assert user.text(f"{ROOT} .ss-chartgrid .ss-sub").startswith("From the recording")
    assert not user.page.locator(f"{ROOT} input[name=ss-costs-from]").first.is_visible()


def test_the_legend_and_the_labels_name_what_is_there(started):
    user = started()
    user.page.wait_for_selector(f"{ROOT} .ss-diamond")
    assert user.page.locator(f"{ROOT} .ss-diamondline").is_visible() and "(measured)" in user.text(f"{ROOT} .ss-sliders p")
    set_slider(user, "load", 0.3)
    assert "(computed for a filled pass)" in user.text(f"{ROOT} .ss-sliders p") and "to 30 %" in user.text(f"{ROOT} .ss-sliders")
    measured(user)  # the recording's speed is no point among this machine's
    user.at()
    assert user.page.locator(f"{ROOT} .ss-diamond").count() == 0 and not user.page.locator(f"{ROOT} .ss-diamondline").is_visible()


def test_the_closed_form_is_the_core_s_and_red_below_one(started):
    user = started()
    measured(user)
    one = CALIBRATION["pass_s"]["1"]
    set_slider(user, "k", 3)
    set_slider(user, "c", 0.1)
    got = set_slider(user, "alpha", 0.8)
    assert got == pytest.approx(theory.speedup(0.8, 3, 0.1, CALIBRATION["pass_s"]["4"] / one), abs=2e-4)
    assert user.text(f"{ROOT} .ss-model .ss-big span") == "expected, times plain speed"
    assert user.page.locator(f"{ROOT} .ss-expected-result").get_attribute("data-slow") == "no"
    got = set_slider(user, "alpha", 0.05)
    assert got < 1 and user.page.locator(f"{ROOT} .ss-expected-result").get_attribute("data-slow") == "yes"
    assert user.text(f"{ROOT} .ss-expected-result .ss-say").startswith("Slower here, because a round of 3 drafted tokens costs")
    assert "it pays from α = " in user.text(f"{ROOT} .ss-expected-result .ss-note") and "not to speculate" in user.text(
        f"{ROOT} .ss-expected-result .ss-note"
    )
    charts = user.page.locator(f"{ROOT} .ss-model .ss-chart").all_text_contents()
    assert len(charts) == 2 and all("slower here" in c for c in charts)
    assert user.page.locator(f"{ROOT} .ss-slowzone").count() == 2
    slider = user.page.locator(f"{ROOT} input[data-key=k]")
    slider.focus()
    user.page.keyboard.press("ArrowRight")
    user.at()
    assert slider.input_value() == "4" and slider.get_attribute("aria-valuetext") == "4"
    user.page.locator("[data-act=reset]").click()
    user.at()
    assert user.page.locator(f"{ROOT} input[data-key=alpha]").input_value() not in ("0.05", "")


def test_a_run_is_a_point_with_its_interval_and_positions(started):
    user = started(FakeEngine(phase="loading", progress=0.3))
    user.page.wait_for_selector(f"{ROOT} .ss-posbar")
    totals = fake_trace.make()["totals"]
    words = user.page.locator(f"{ROOT} .ss-model > .ss-say").inner_text()
    assert f"{totals['accepted']} of {totals['tested']} tested tokens were accepted" in words and "95 % confidence" in words and "measured:" in words
    assert user.page.locator(f"{ROOT} .ss-runpoint").count() == 2 and user.page.locator(f"{ROOT} .ss-diamond").count() == 2
    assert user.page.locator(f"{ROOT} .ss-model .ss-interval").count() == 3
    assert user.page.locator(f"{ROOT} .ss-posbar").count() == 4
    assert user.page.locator(f"{ROOT} .ss-iid").count() == 4
    assert user.text(f"{ROOT} .ss-chartgrid .ss-sub").startswith("From the recording, not from your machine")
    user.page.locator("[data-act=measure]").click()  # no model yet: one sentence
    user.says("#faster .ss-measuring", "loading (30 %)")
    user.page.locator(f"{ROOT} input[value='list-draft']").check(force=True)
    user.wait(f"() => document.querySelector('#faster .ss-model > .ss-say').textContent !== {json.dumps(words)}")


def test_the_live_run_of_watch_is_offered(started, visit):
    user = started()
    user.go("watch", "#player .ss-tok")
    user.page.locator("#max-new input[type=number]").fill("24")
    user.page.locator("#run").click()
    user.wait(
        "() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'"
        " && document.querySelector('.ss-caption').textContent.startsWith('Live run')"
    )
    user.go("faster", f"{ROOT} .ss-model")
    user.page.locator(f"{ROOT} input[value=live]").check(force=True)
    user.wait("() => /of \\d+ tested/.test(document.querySelector('#faster .ss-model > .ss-say').textContent)")
    user.wait("() => document.querySelector('#faster .ss-chartgrid .ss-sub').textContent.startsWith('Measured for your live run')")


def test_narrow_and_dark_with_hostile_facts(started):
    user = started(FakeEngine(phase="loading"), "hostile", viewport={"width": 320, "height": 800}, color_scheme="dark")
    user.page.wait_for_selector(f"{ROOT} .ss-posbar")
    assert "<img" in user.text(f"{ROOT} .ss-chartgrid .ss-sub")
    assert user.page.evaluate("() => window.__hit === undefined") and user.page.locator("#faster script, #faster img").count() == 0
    for width in (320, 1280):
        user.resize(width)
        assert not user.sideways(), width


def test_without_any_recording_the_form_still_works(started):
    user = started(folder="none", ready=".ss-empty:not([hidden])")
    measured(user)
    assert set_slider(user, "alpha", 0.9) > 1
    assert "No recorded run" in user.page.locator(f"{ROOT} .ss-model").inner_text()


def test_a_failure_to_measure_is_said_in_the_pages_language(started):
    user = started(FakeEngine(wrong=RuntimeError("secret")), query="?lang=ru")
    user.page.locator("[data-act=measure]").click()
    user.says("#faster .ss-measuring", "Измерить не удалось")


def test_another_language_redraws_the_three_tabs_and_keeps_what_was_measured(started):
    user = started()
    titles = "() => ['#lossless', '#faster', '#methods'].map(r => document.querySelector(r + ' h2').textContent).join()"
    for tab in ("lossless", "methods", "faster"):
        user.go(tab, f"#{tab} .ss-explain")
    measured(user)
    before = user.page.evaluate(titles)
    user.page.evaluate("() => window.Specscope.setLanguage('ru')")
    user.page.wait_for_selector(f"{ROOT} .ss-posbar")
    assert all(a != b for a, b in zip(user.page.evaluate(titles).split(","), before.split(",")))
    assert user.page.locator(f"{ROOT} .ss-floorline").count() == 1, "the calibration is still there"
    user.page.evaluate("() => window.Specscope.setLanguage('en')")
    user.page.wait_for_selector(f"{ROOT} .ss-posbar")
    assert user.page.evaluate(titles) == before
