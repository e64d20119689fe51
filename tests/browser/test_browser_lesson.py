"""The lesson: a student does its ten steps on recordings and the page checks them; the presenter's view; printing."""

import pytest

from tests.spec_ui.fake_engine import FakeEngine

CARD = "#lesson .ss-lessoncard"


@pytest.fixture
def site(serve):
    return serve(engine=FakeEngine(phase="failed"))


def begin(visit, site, n: int, done: str = "", **context):
    return visit(site, f"?tab=lesson&lesson={n}{done}", ready=f'{CARD}[data-open="{n}"]', **context)


def turn(user, n: int) -> None:
    """To another step by its dot."""
    user.page.locator("#lesson .ss-dotbtn").nth(n - 1).click()
    user.page.wait_for_selector(f'{CARD}[data-open="{n}"]')


def done(user, step: str) -> None:
    user.page.wait_for_selector(f'{CARD}[data-step="{step}"][data-done="yes"]')


def next_(user, step: str) -> None:
    user.page.locator('#lesson .ss-lessonnav [data-act="next"]').click()
    user.wait(f"() => document.querySelector('{CARD}').dataset.step === '{step}' && document.querySelector('{CARD}').dataset.open")
    assert user.page.get_attribute(CARD, "data-done") == "no", f"{step} is not done by opening it"


def test_all_ten_steps(visit, site):
    user = begin(visit, site, 1, reduced_motion="no-preference")
    page = user.page
    assert page.get_attribute(CARD, "data-done") == "no"
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        user.drawn()
    done(user, "pass")
    next_(user, "predict")
    before = page.locator("#lesson .ss-card[data-kind=lit]").count()
    assert before >= 1, "the outcome is not shown yet"
    page.locator("#lesson [data-guess=accepted]").click()
    done(user, "predict")
    assert "u was" in user.text("#lesson .ss-ask")
    next_(user, "bonus")
    for _ in range(30):
        page.keyboard.press("Shift+ArrowRight")
        if page.get_attribute(CARD, "data-done") == "yes":
            break
        user.drawn()
    done(user, "bonus")
    next_(user, "replaced")
    page.locator('#lesson .ss-text .ss-tok[data-kind="recovered"]').nth(1).click()
    user.drawn()
    page.locator('#lesson .ss-card[data-kind="recovered"]').click()
    done(user, "replaced")
    next_(user, "certain")
    for i in range(page.locator("#lesson .ss-text .ss-tok[data-kind=accepted]").count()):
        page.locator("#lesson .ss-text .ss-tok[data-kind=accepted]").nth(i).click()
        user.drawn()
        if page.get_attribute(CARD, "data-done") == "yes":
            break
    done(user, "certain")
    next_(user, "reject")
    page.locator("#lesson .ss-u").fill("1")
    done(user, "reject")
    next_(user, "roll")
    page.locator("#lesson .ss-roll").click()
    done(user, "roll")
    next_(user, "agree")
    page.locator("#lesson .ss-heat").fill("0")  # at temperature 0 two distributions agree wholly or not at all
    user.drawn()
    if page.get_attribute(CARD, "data-done") == "no":
        names = page.locator("#lesson .ss-distbar.ss-q")
        values = [int(page.locator("#lesson .ss-distbar.ss-p").nth(i).get_attribute("aria-valuenow")) for i in range(names.count())]
        names.nth(values.index(max(values))).focus()
        page.keyboard.press("End")
    done(user, "agree")
    next_(user, "length")
    page.locator("#lesson .ss-fill").fill("1")
    assert page.locator("#lesson .ss-length[data-slow=yes]").count() == 10 and "no length pays" in user.text("#lesson .ss-wlength .ss-note")
    done(user, "length")
    next_(user, "quiz")
    for k, right in enumerate((0, 1, 2, 0)):
        page.locator("#lesson .ss-quiz fieldset").nth(k).locator("input").nth((right + 1) % 3).check()
        assert f"It is in step {(1, 7, 9, 4)[k]}." in page.locator("#lesson .ss-quiz fieldset").nth(k).inner_text()
        page.locator("#lesson .ss-quiz fieldset").nth(k).locator("input").nth(right).check()
    done(user, "quiz")
    assert page.locator('#lesson .ss-quiz .ss-note[data-right="yes"]').count() == 4
    assert "All ten are done" in user.text("#lesson .ss-outcome") and "10 of 10 done" in user.text(CARD)
    user.wait("() => location.search.includes('done=3ff') && location.search.includes('lesson=10')")
    page.locator('#lesson [data-act="own"]').click()
    page.wait_for_selector("#prompt textarea", state="visible")
    user.wait("() => document.activeElement === document.querySelector('#prompt textarea')")
    page.locator('.ss-tabs [data-tab-id="lesson"]').click()
    # The answers stay through a visit to another step and to another language; a wrong answer makes the step undone.
    turn(user, 9)
    turn(user, 10)
    chosen = "() => [...document.querySelectorAll('#lesson .ss-quiz fieldset')].map(f => f.querySelector('input:checked')?.value ?? '').join('')"
    assert page.evaluate(chosen) == "0120"
    page.evaluate("() => window.Specscope.setLanguage('ru')")
    page.wait_for_selector(f'{CARD}[data-open="10"]')
    assert page.evaluate(chosen) == "0120"
    page.evaluate("() => window.Specscope.setLanguage('en')")
    page.wait_for_selector(f'{CARD}[data-open="10"]')
    page.locator("#lesson .ss-quiz fieldset").nth(1).locator("input").nth(0).check()
    assert page.get_attribute(CARD, "data-done") == "no" and "9 of 10 done" in user.text(CARD) and page.evaluate(chosen) == "0020"
    assert begin(visit, site, 10, "&done=200").page.evaluate(chosen) == "0120", "an address that calls it done shows what was right"
    again = begin(visit, site, 4, "&done=5")
    assert again.page.locator("#lesson .ss-dotbtn[data-done=yes]").count() == 2


@pytest.mark.parametrize("width", [360, 1280])
def test_who_has_scrolled_away_is_told_in_the_window_that_it_is_done(visit, site, width):
    user = begin(visit, site, 7, viewport={"width": width, "height": 740})
    page = user.page
    page.locator('#lesson [data-act="there"]').click()
    page.locator("#lesson .ss-roll").click()
    bar = page.locator("#lesson .ss-donebar")
    bar.wait_for(state="visible")
    box = bar.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 740 and box["x"] >= 0 and box["x"] + box["width"] <= width
    page.locator(f'{CARD} [data-act="back"]').scroll_into_view_if_needed()
    bar.wait_for(state="hidden")  # the card says it itself
    bar.locator("button").evaluate("n => n.click()")
    user.wait(f"() => document.querySelector('{CARD}').dataset.step === 'agree'")


def test_everybody_draws_with_a_seed_of_their_own(visit, site):
    """One seed for all would show everybody the same draws, and if they are rare ones, the same rare ones."""
    seen = set()
    for _ in range(2):
        user = begin(visit, site, 7)
        user.page.locator("#lesson .ss-roll").click()
        seen.add(user.page.evaluate("() => [...document.querySelectorAll('#lesson .ss-rolls .ss-piece')].map(n => n.style.width).join()"))
    assert len(seen) == 2


def test_the_way_to_what_a_step_asks_for(visit, site):
    """By keyboard: the button in the card brings its control into sight and the focus to it; that alone does not do the step."""
    user = begin(visit, site, 1, viewport={"width": 360, "height": 740})
    page = user.page
    for width in (360, 1280):
        user.resize(width)
        for n, control in {1: ".ss-forward", 5: ".ss-scrub", 6: ".ss-u", 7: ".ss-roll", 9: '.ss-length[aria-checked="true"]'}.items():
            turn(user, n)
            page.locator('#lesson [data-act="there"]').focus()
            page.keyboard.press("Enter")
            assert page.evaluate("s => document.activeElement === document.querySelector(`#lesson .ss-stage ${s}`)", control), (width, n)
            box = page.locator(f"#lesson .ss-stage {control}").bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= 740, (width, n, box)
            assert page.get_attribute(CARD, "data-done") == "no", (width, n)


def test_steps_open_with_something_to_do(visit, site):
    user = begin(visit, site, 5)
    assert "You find it, for example, in round" in user.text(CARD)
    user = begin(visit, site, 9)
    assert user.page.locator('#lesson .ss-length[aria-checked="true"] b').inner_text() == "1"
    user.page.keyboard.press("Tab")
    user.page.locator('#lesson [data-act="there"]').click()
    for _ in range(9):
        user.page.keyboard.press("ArrowRight")
    assert user.page.get_attribute(CARD, "data-done") == "no", "faster than plain at every length while nobody else is in the pass"
    user.page.locator("#lesson .ss-fill").focus()
    user.page.keyboard.press("End")
    done(user, "length")
    assert not user.page.locator('#lesson [data-act="there"]').is_visible()


def test_the_prediction_is_not_given_away(visit, site):
    user = begin(visit, site, 2)
    page = user.page
    assert page.locator("#lesson .ss-stage[data-veil]").count() == 1
    hidden = "() => [...document.querySelectorAll('#lesson .ss-future .ss-tok')].every(n => getComputedStyle(n).visibility === 'hidden')"
    assert page.evaluate(hidden) and "Plain decoding" not in user.text("#lesson .ss-roundpanel")
    asked = user.text("#lesson .ss-ask .ss-say2")
    pressed = page.locator('#lesson .ss-card[aria-pressed="true"] code').inner_text()
    assert pressed.strip("…")[:6] in asked, "the picture below is that of the token asked about"
    assert page.locator("#lesson .ss-name[data-kind=accepted], #lesson .ss-name[data-kind=rejected]").count() == 0
    page.locator("#lesson [data-guess=rejected]").click()
    done(user, "predict")
    assert page.locator("#lesson .ss-stage[data-veil]").count() == 0 and not page.evaluate(hidden)


def test_the_presenters_view_by_keys_alone(visit, site):
    user = begin(visit, site, 1, "&view=present")
    page = user.page
    assert not page.locator("#header").is_visible() and not page.locator(".ss-tabs [role=tab]").first.is_visible()
    page.keyboard.press("PageDown")
    user.wait(f"() => document.querySelector('{CARD}').dataset.step === 'predict'")
    page.keyboard.press("PageUp")
    user.wait(f"() => document.querySelector('{CARD}').dataset.step === 'pass'")
    page.keyboard.press("Escape")
    user.wait("() => !location.search.includes('view=')")
    assert page.locator("#header").is_visible()
    user = visit(site, "?view=present")
    user.page.keyboard.press("Home")
    user.page.keyboard.press("PageDown")
    user.page.keyboard.press("PageDown")
    assert user.at() == ("1", "draft")
    assert not user.page.locator("#prompt").is_visible() and not user.sideways()


def test_a_lesson_without_recordings_says_so(visit):
    user = visit("none", "?tab=lesson", ready="#lesson .ss-lessoncard")
    user.page.get_by_text("no recorded runs on this server").wait_for(state="visible")


def test_the_lesson_fits_any_width(visit, site):
    user = begin(visit, site, 7, viewport={"width": 320, "height": 740})
    for lang in ("en", "ru"):
        user.page.evaluate("lang => window.Specscope.setLanguage(lang)", lang)
        user.page.wait_for_selector(f'html[lang="{lang}"] {CARD}[data-open="7"]')
        user.wait("() => document.querySelectorAll('#lesson .ss-distrow').length > 2")
        for width in (320, 360, 1280):
            user.resize(width)
            assert not user.sideways(), (lang, width)


def test_printing_leaves_text_and_round_and_a_click_on_the_tab_begins_the_lesson(visit, site):
    user = visit(site)
    user.page.emulate_media(media="print")
    for hidden in (".ss-aside", ".ss-transport", ".ss-share", "#theme", ".ss-intro .ss-sharerow"):
        assert not user.page.locator(hidden).first.is_visible(), hidden
    for shown in ("#player .ss-text", "#player .ss-cards", "#player .ss-bars", "#player .ss-stats", "#player .ss-race", "#player .ss-prompt"):
        assert user.page.locator(shown).is_visible(), shown
    user.page.emulate_media(media="screen")
    user.page.locator('.ss-tabs [data-tab-id="lesson"]').click()
    user.page.wait_for_selector(f'{CARD}[data-open="1"]')
    for _ in range(6):
        user.page.keyboard.press("ArrowRight")
        user.drawn()
    done(user, "pass")
