"""A recorded run: it is on screen at once, and stepping through it sends no request to the server."""

import itertools

import pytest

from tests.spec_ui.fake_engine import FakeEngine


@pytest.fixture
def site(serve):
    return serve(engine=FakeEngine(phase="loading", progress=0.62))


def test_recorded_run_is_on_screen_while_the_model_is_loading(visit, site):
    user = visit(site)
    assert "both were measured" in user.text(".ss-big")
    user.says("#model-state .ss-notice", "The live model is loading (62 %)")
    kinds = set(user.page.eval_on_selector_all("#player [data-kind]", "nodes => nodes.map(n => n.dataset.kind)"))
    assert {"accepted", "recovered", "rejected", "bonus"} <= kinds
    assert "not_reached" in kinds or "plain" in kinds
    motion = user.page.evaluate("() => getComputedStyle(document.querySelector('.ss-mark')).transitionDuration")
    assert motion in ("0s", ""), "reduced motion is honoured"
    here = user.at()
    user.page.locator("#prompt textarea").click()
    for key in ("ArrowLeft", "Home", "Space", "End"):
        user.page.keyboard.press(key)
    assert user.at() == here, "keys leave the prompt alone"
    for width in (1280, 360):
        user.resize(width, 900)
        marks = user.page.evaluate("""() => {
          const left = document.querySelector('#player .ss-text').getBoundingClientRect().left;
          return [...document.querySelectorAll('#player .ss-tok')].filter((t) => /^[.,]$/.test(t.querySelector('.ss-mark').textContent))
            .map((t) => t.querySelector('.ss-mark').getBoundingClientRect().left - left);
        }""")
        assert len(marks) > 3 and min(marks) > 12, f"no full stop begins a line, {width}"


def test_walking_asks_the_server_for_nothing(visit, site):
    user = visit(site, plotly=True)
    user.page.wait_for_selector(".ss-plot .main-svg")  # Plotly has come
    user.page.route("**/gradio_api/**", lambda route: route.continue_())
    user.page.evaluate("() => window.stopTimers = true")
    before = [r for r in user.requests if "run/" not in r and "queue/" not in r]
    last = int(user.page.get_attribute(".ss-scrub", "aria-valuemax"))
    user.page.locator("#player .ss-ticks").scroll_into_view_if_needed()
    box = user.page.locator("#player .ss-ticks").bounding_box()
    for k in range(0, last + 1, 3):
        user.page.mouse.click(box["x"] + (k + 0.5) / (last + 1) * box["width"], box["y"] + box["height"] - 2)
        assert user.at() == (str(k), "settle")
    for key in ["ArrowLeft", "ArrowRight", "Shift+ArrowLeft", "Home", "End", "Shift+ArrowRight"]:
        user.page.keyboard.press(key)
    # While the model is loading the page asks for its state once a second; it may have asked for nothing else.
    after = [r for r in user.requests if "run/" not in r and "queue/" not in r]
    assert after == before
    assert sum("run/" in r or "queue/" in r for r in user.requests) <= 20


def test_steps_of_a_round_and_keys(visit, site):
    user = visit(site, clock=True)
    page = user.page
    page.keyboard.press("Home")
    assert user.at() == ("0", "settle")
    phases = []
    for _ in range(11):
        page.keyboard.press("ArrowRight")
        r, phase = user.at()
        if r != "1":
            break
        phases.append(phase)
    drafted = phases.count("draft")
    assert phases[:drafted] == ["draft"] * drafted and phases[drafted] == "verify" and phases[-1] == "settle"
    assert set(phases[drafted + 1 : -1]) == {"acceptance"}
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    user.at()
    assert page.locator('.ss-text [data-kind="pending"]').count() == 1
    for _ in range(drafted):
        page.keyboard.press("ArrowRight")
    assert user.at() == ("1", "verify")
    assert page.locator('.ss-text [data-kind="lit"]').count() == drafted
    page.keyboard.press("Shift+ArrowRight")
    assert user.at() == ("1", "settle")
    page.keyboard.press("Shift+ArrowRight")
    assert user.at() == ("2", "settle")
    page.keyboard.press("Shift+ArrowLeft")
    assert user.at() == ("1", "settle")
    page.keyboard.press("End")
    assert user.at()[0] == page.get_attribute(".ss-scrub", "aria-valuemax")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.locator("#player .ss-speed").select_option("speed:0.5")
    page.locator(".ss-title, .ss-roundpanel h2").click()
    page.keyboard.press("Space")
    user.wait("() => Number(document.querySelector('#player .ss-mount').dataset.round) > 1")
    page.keyboard.press("Space")
    here = user.at()
    page.clock.run_for(3000)
    assert user.at() == here, "Space pauses"
    page.keyboard.press("Space")
    page.clock.run_for(3000)
    assert user.at() != here


@pytest.mark.parametrize("motion", [pytest.param("reduce", marks=pytest.mark.long), "no-preference"])
def test_play_begins_at_the_beginning_and_at_a_pace_to_read(visit, site, motion):
    user = visit(site, reduced_motion=motion)
    page = user.page
    groups = page.eval_on_selector_all("#player .ss-speed optgroup", "nodes => nodes.map(n => [n.label, ...[...n.children].map(o => o.textContent)])")
    assert groups == [["To read along", "1 step/s", "4 steps/s"], ["Times the recorded speed", "0.05×", "0.25×", "0.5×", "1×", "2×", "4×"]]
    page.evaluate("""() => { window.lines = []; new MutationObserver(() => window.lines.push(document.querySelector('#player .ss-line').textContent))
      .observe(document.querySelector('#player .ss-line'), {childList: true, characterData: true, subtree: true}); }""")
    page.locator("#player .ss-speed").select_option("pace:4")
    page.locator("#player .ss-play").click()
    user.wait("() => window.lines.length >= 8")
    page.locator("#player .ss-play").click()
    lines = page.evaluate("() => window.lines")
    page.locator("#player .ss-speed").focus()
    walked = [lines[0]]
    page.locator("#player .ss-first").click()
    for _ in range(7):
        page.locator("#player .ss-forward").click()
        user.at()
        walked.append(page.locator("#player .ss-line").inner_text())
    assert lines[0].startswith("Round 0") and lines[:8] == walked, "every step, none left out"


def test_a_token_tells_why_it_was_accepted_or_rejected(visit, site):
    user = visit(site)
    page = user.page
    r = page.evaluate(
        "() => window.Specscope.players[0].trace.rounds.findIndex(r => ['accepted', 'rejected'].every(v => r.drafted.some(d => d.verdict === v)))"
    )
    for _ in range(1, r):
        page.keyboard.press("Shift+ArrowRight")
    user.at()
    card = page.locator('.ss-card[data-kind="rejected"]').first
    label = card.get_attribute("aria-label")
    assert "rejected" in label and "target p" in label and "u = 0." in label
    card.focus()
    assert page.locator(".ss-pin").count() == 1
    assert page.locator(".ss-rescell").count() > 2, "after a rejection the residual is shown"
    assert "Overlap" in user.text(".ss-bars")
    accepted = page.locator('.ss-text .ss-tok[data-kind="accepted"]').first
    accepted.hover()
    assert "accepted" in user.text(".ss-tip")
    accepted.click()
    user.at()
    assert page.locator('.ss-card[aria-pressed="true"][data-kind="accepted"]').count() == 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.className") == "ss-tok"
    assert page.locator('.ss-text .ss-tok[tabindex="0"]').count() == 1, "one token is in the tab order"


def test_a_struck_word_speaks_for_itself(visit, site):
    user = visit(site, "?round=30")
    page = user.page
    ghost = page.locator("#player .ss-past .ss-ghost[data-kind=rejected]").first
    word = ghost.inner_text()
    ghost.hover()
    assert word.strip("…") in user.text("#player .ss-tip") and "rejected" in user.text("#player .ss-tip")
    ghost.click()
    chosen = user.page.locator("#player .ss-card[aria-pressed=true]")
    chosen.filter(has_text=word.strip("…")).wait_for()  # drawn in the next frame
    assert word.strip("…") in chosen.inner_text() and "rejected" in chosen.inner_text()


def test_the_point_of_the_step_moves_over_a_chart_that_is_not_drawn_again(visit, site):
    user = visit(site, plotly=True, clock=True)
    user.page.wait_for_selector("#player .ss-plotdot:not([hidden])", state="attached")
    user.page.evaluate(
        "() => { const react = window.Plotly.react; window.drawn = 0; window.Plotly.react = (...a) => { window.drawn += 1; return react(...a); }; }"
    )
    places = []
    for key in ("Home", "Shift+ArrowRight", "Shift+ArrowRight", "End"):
        user.page.keyboard.press(key)
        user.at()
        dot, plot = (user.page.locator(f"#player {part}").bounding_box() for part in (".ss-plotdot", ".ss-plot"))
        places.append((dot["x"] + 6 - plot["x"], plot["y"] + plot["height"] - dot["y"] - 6))
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in itertools.pairwise(places[1:])) and places[-1][1] > 100
    user.page.clock.run_for(1000)  # a drawing that was put off would come now
    assert user.page.evaluate("() => window.drawn") == 0
    end = user.page.evaluate("""() => {
      const [line, plot] = ['.js-line', ''].map((part) => document.querySelector(`#player .ss-plot ${part}`.trim()).getBoundingClientRect());
      return [line.right - plot.left, plot.bottom - line.top];
    }""")
    assert abs(end[0] - places[-1][0]) < 4 and abs(end[1] - places[-1][1]) < 4, "on the end of its line"


def test_presenting_shows_text_cards_and_chart_on_one_screen(visit, site):
    user = visit(site, "?round=10&view=present")
    for part in (".ss-text", ".ss-line", ".ss-cards", ".ss-bars h3", ".ss-bars tbody tr"):
        box = user.page.locator(f"#player {part}").first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] * (part != ".ss-cards") <= 900, part


def test_example_without_a_model_shows_its_recording(visit, site):
    user = visit(site)
    user.page.get_by_label("list", exact=True).check(force=True)
    user.wait("() => document.querySelector('.ss-caption').textContent.includes('greedy')")
    user.wait("() => document.querySelector('#prompt textarea').value === 'prompt of list-draft'")
    assert "first choice" in user.page.locator('.ss-card[data-kind="accepted"], .ss-card[data-kind="rejected"]').first.get_attribute("aria-label")
    user.page.get_by_label("story", exact=True).check(force=True)
    user.wait("() => document.querySelectorAll('.ss-node').length > 5")
    assert user.page.locator('.ss-edge[data-kind="accepted"]').count() >= 1
    user.page.get_by_label("coding", exact=True).check(force=True)
    user.wait("() => document.querySelector('#notice').textContent.includes('the run shown is another one. Press Run')")
    assert user.page.locator("#prompt textarea").input_value().startswith("Write a Python function")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_sideways_scroll_in_either_scheme(visit, site, scheme):
    user = visit(site, viewport={"width": 320, "height": 720}, color_scheme=scheme)
    for width in (320, 360, 1280):
        user.resize(width)
        assert not user.sideways(), width
    ink, paper = user.page.evaluate(
        "() => [getComputedStyle(document.querySelector('.ss')).color, getComputedStyle(document.querySelector('.ss-panel')).backgroundColor]"
    )

    def light(colour):
        return sum(map(int, colour.split("(")[1].rstrip(")").split(",")[:3])) > 380

    assert light(paper) == (scheme == "light") and light(ink) == (scheme == "dark")


def test_theme_in_the_address_wins_over_the_system(visit, site):
    user = visit(site, "?__theme=dark", color_scheme="light")
    assert user.page.evaluate("() => getComputedStyle(document.querySelector('.ss-panel')).backgroundColor") == "rgb(28, 31, 37)"
    user = visit(site, "?__theme=light", color_scheme="dark")
    assert user.page.evaluate("() => getComputedStyle(document.querySelector('.ss-panel')).backgroundColor") == "rgb(255, 255, 255)"
