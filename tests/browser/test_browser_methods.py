"""The tab "Methods": a card for each method, a recording opened in Watch, several methods on one clock."""

import pytest

from core.methods.catalog import LABELS

ROOT = "#methods"


@pytest.fixture
def user(visit):
    user = visit("race")
    user.go("methods", f"{ROOT} .ss-lane")
    return user


def test_a_card_for_every_method_in_the_catalogs_order_with_its_figures(user):
    cards = {c.get_attribute("data-method"): c.inner_text() for c in user.page.locator(".ss-method").all()}
    assert list(cards) == list(LABELS)
    assert "num_speculative_tokens" in user.text(f"{ROOT} .ss-panel:last-of-type")
    assert cards["lookup"].startswith("Prompt lookup (n-gram)\nearlier text"), "its name and the plain word for it"
    for name, text in cards.items():
        for part in ("Proposer", "Memory", "Needs", "Choose it when", "Here", "Paper"):
            assert part in text, (name, part)
        assert "arxiv.org" in text or "github.com" in text
    assert "of tested tokens accepted" in cards["draft"] and "No recorded run" in cards["medusa"]
    assert "Slower here, because a drafting round costs" in cards["draft"]


def test_open_a_recording_in_watch(user):
    user.page.locator(".ss-method[data-method=draft] .ss-link", has_text="Open in Watch").last.click()
    user.page.wait_for_selector("#player .ss-tok:visible")
    user.wait("() => document.querySelector('#player .ss-caption').textContent.startsWith('Recorded run')")
    assert "slower here" in user.text("#player .ss-big")
    user.page.keyboard.press("Home")
    assert user.at() == ("0", "settle")


def test_side_by_side_on_one_clock(user):
    page = user.page
    lanes = page.locator(".ss-lane")
    assert [lane.get_attribute("data-method") for lane in lanes.all()] == [LABELS["draft"], LABELS["lookup"], LABELS["plain"]]
    page.locator(f"{ROOT} .ss-speed").select_option("4")
    page.locator(f"{ROOT} .ss-play").click()
    user.wait("() => [...document.querySelectorAll('.ss-lane')].every(l => l.dataset.done === 'yes')")
    texts = page.eval_on_selector_all(".ss-lanetext", "nodes => nodes.map(n => n.textContent)")
    assert len(set(texts)) == 1 and len(texts[0]) > 50, "greedy: the same text from every method"
    assert "done" in user.text(".ss-lanestate") and page.locator(f"{ROOT} .ss-play").get_attribute("aria-label") == "Play"
    kinds = set(page.eval_on_selector_all(".ss-lanetext [data-kind]", "nodes => nodes.map(n => n.dataset.kind)"))
    assert {"accepted", "plain"} <= kinds
    page.locator(f"{ROOT} .ss-racebar input").evaluate("n => { n.value = n.max / 3; n.dispatchEvent(new Event('input', {bubbles: true})); }")
    third = [int(lane.get_attribute("data-tokens")) for lane in lanes.all()]
    assert all(0 < n < 60 for n in third) and page.locator(".ss-lane[data-done=yes]").count() == 0
    assert page.locator(".ss-lane").first.locator(".ss-racetok").count() == third[0]
    page.locator(f"{ROOT} input[value=lookup]").uncheck(force=True)
    assert lanes.count() == 2 and user.number(".ss-side-by-side", "data-t") > 0
    assert "First over these " in user.text(".ss-side-by-side > div > .ss-say") and "At temperature 0" in user.text(".ss-side-by-side")
    page.locator(f"{ROOT} .ss-side-by-side summary").click()
    assert page.locator(".ss-side-by-side tbody tr").count() == 2


def test_a_sampled_recording_has_no_plain_text_and_says_why_it_is_slower(user):
    user.page.locator(f"{ROOT} input[value=list]").check(force=True)
    user.wait("() => document.querySelectorAll('.ss-lane').length === 2 && document.querySelector('.ss-lane:last-child .ss-sub')")
    assert "each token is a dot" in user.text(".ss-lane:last-child .ss-sub")
    assert "another random draw" in user.text(".ss-side-by-side")
    assert user.text(".ss-side-by-side .ss-slowwords").startswith("Draft model: slower here, because")


def test_hostile_tokens_are_text_at_320(visit):
    user = visit("hostile", viewport={"width": 320, "height": 800}, color_scheme="dark")
    page = user.page
    user.go("methods", f"{ROOT} .ss-lane")
    examples = page.locator(f"{ROOT} input[name=ss-race-example]").evaluate_all("nodes => nodes.map(n => n.value)")
    assert {"script", "image", "literal", "rtl", "long", "newline", "none", "<b>${1}"} < set(examples)
    for name in examples:
        page.locator(f"{ROOT} input[name=ss-race-example]").nth(examples.index(name)).check(force=True)
        user.wait("n => document.querySelectorAll('#methods input[name=ss-race-example]')[n].checked", examples.index(name))
        user.wait("() => document.querySelector('#methods [role=status]').textContent === ''")
        page.locator(f"{ROOT} .ss-racebar input").evaluate("n => { n.value = n.max; n.dispatchEvent(new Event('input', {bubbles: true})); }")
        assert int(page.locator(".ss-lane").first.get_attribute("data-tokens")) > 5, name
        assert not user.sideways(), name
    assert page.locator(".ss-method").count() == len(LABELS) + 2, "an unknown method gets a card of its own, its name as text"
    assert page.evaluate("() => window.__hit === undefined")
    assert page.locator("#methods script, #methods img, #methods b b").count() == 0


def test_no_recordings_at_all(visit):
    user = visit("none", ready=".ss-empty:not([hidden])")
    user.go("methods", f"{ROOT} .ss-method")
    assert "No recorded run is here yet." in user.text(".ss-side-by-side")
