"""What a first visitor needs: the introduction, every term under "?", controls that are all in sight, a way out of the presenter's view."""

import pytest

from tests.spec_ui.fake_engine import FakeEngine

INTRO = "#player .ss-intro"


def test_the_introduction_is_open_until_closed_and_leads_to_the_lesson(visit):
    user = visit()
    page = user.page
    assert page.locator(f"{INTRO}[open]").count() == 1
    assert not page.get_by_text("A large model, the target").is_visible(), "one sentence first"
    page.locator(f'{INTRO} [data-act="more"]').click()
    assert "drawn at random from q" in user.text(INTRO)
    page.locator(f"{INTRO} .ss-term", has_text="residual").first.hover()
    assert user.text("#ss-definition").startswith("residual: max(0, p − q)")
    page.locator(f"{INTRO} summary").click()
    user.wait("() => !document.querySelector('#player .ss-intro').open")
    page.reload()
    page.wait_for_selector("#player .ss-tok")
    assert page.locator(f"{INTRO}[open]").count() == 0, "closed once, closed on the next visit"
    page.locator(f"{INTRO} summary").click()
    page.locator(f'{INTRO} [data-act="lesson"]').click()
    page.wait_for_selector("#lesson .ss-lessoncard[data-open]")


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_the_run_and_its_buttons_are_in_sight_at_once(visit, serve, lang):
    user = visit(serve("real", FakeEngine(phase="loading")), f"?lang={lang}")
    user.wait("lang => document.documentElement.lang === lang", lang)
    for width, height, screens in ((1280, 900, 1), (360, 740, 1.3)):
        user.resize(width, height)
        box = {name: user.page.locator(f"#player .ss-{name}").first.bounding_box() for name in ("text", "play", "stats", "now")}
        assert user.page.locator(f"{INTRO}[open]").count() == 1 and user.at() == ("1", "settle"), "at its beginning"
        assert box["text"]["y"] < box["play"]["y"] < screens * height - box["play"]["height"]
        assert (box["stats"]["y"] > box["play"]["y"]) == (width < 600), "on a phone the figures come behind"
        assert box["now"]["y"] - 2 >= box["text"]["y"], "the box around the round has its upper border"


def test_on_a_phone_the_lesson_opens_too_and_the_prompt_is_one_press_away(visit):
    user = visit(viewport={"width": 360, "height": 740})
    page = user.page
    page.locator(f'{INTRO} [data-act="own"]').click()
    assert page.evaluate("() => document.activeElement === document.querySelector('#prompt textarea')")
    page.locator(f'{INTRO} [data-act="lesson"]').click()
    page.wait_for_selector("#lesson .ss-lessoncard[data-open]")
    assert not user.sideways()


def test_all_terms_and_keys_are_under_one_button(visit):
    user = visit()
    user.page.locator("#player button.ss-help").click()
    words = user.text("dialog[open]")
    for term in ("residual", "closed form", "plain step", "logits", "Q4_1", "EAGLE", "Medusa", "distribution", "Esc", "Page Down"):
        assert term in words, term
    assert user.page.evaluate("() => document.querySelector('dialog[open]').scrollTop") == 0
    user.page.locator("dialog[open] button").click()


def test_every_control_can_be_reached_without_a_box_that_scrolls_unseen(visit):
    user = visit(viewport={"width": 1280, "height": 800})
    inner = user.page.evaluate("() => { const n = document.querySelector('.ss-aside'); return n.scrollHeight - n.clientHeight; }")
    assert inner <= 2
    user.page.locator("#seed").scroll_into_view_if_needed()
    assert user.page.locator("#seed input").is_visible()


def test_a_prompt_of_ones_own_is_no_example(visit):
    user = visit()
    assert user.page.locator("#example input:checked").count() == 1
    user.page.locator("#prompt textarea").press_sequentially(" and in spring")
    user.wait("() => document.querySelectorAll('#example input:checked').length === 0")
    user.page.locator("#example label").nth(1).click()
    user.wait("() => document.querySelectorAll('#example input:checked').length === 1")
    user.page.locator("#prompt textarea").fill("pasted, not typed")
    user.wait("() => document.querySelectorAll('#example input:checked').length === 0")


def test_presenting_begins_at_the_top_and_has_a_way_out(visit):
    user = visit()
    page = user.page
    page.locator('#player [data-act="present"]').scroll_into_view_if_needed()
    page.locator('#player [data-act="present"]').click()
    user.wait("() => location.search.includes('view=present')")
    assert page.evaluate("() => window.scrollY") == 0 and page.locator("#player .ss-text").is_visible()
    assert page.get_by_text("Leave the presenter's view").filter(visible=True).count() == 1
    page.locator(".ss-leave").click()
    user.wait("() => !location.search.includes('view=')")
    assert page.locator("#header").is_visible() and not page.locator(".ss-leave").is_visible()


def test_what_was_tuned_stands_on_its_card(visit):
    user = visit("hostile", "?tab=methods", ready="#methods .ss-tunetable")
    card = user.page.locator(".ss-method[data-method=early-exit]")
    for lang, ratio in (("en", "0.61×"), ("ru", "0,61×")):
        user.page.evaluate("lang => window.Specscope.setLanguage(lang)", lang)
        user.page.wait_for_selector("#methods .ss-tunetable")
        assert card.locator("tbody tr").count() == 2 and card.locator("[data-best]").count() == 1
        assert ratio in card.inner_text() and "<b>T</b>" in card.inner_text() and "40 %" in card.inner_text()
        assert user.page.locator(".ss-tune").count() == 1 and user.page.locator(".ss-tune b").count() == 0


def test_no_report_no_table(visit):
    user = visit("none", ready=".ss-empty:not([hidden])")
    user.go("methods", "#methods .ss-method")
    assert user.page.locator(".ss-tune").count() == 0
