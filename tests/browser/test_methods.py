"""The tab "Methods": a card for each proposer, a recording opened in Watch, several methods on one clock."""

import json

import pytest

from tests.browser.tabs import go, number
from tests.browser.test_browser_hostile import HOSTILE
from tests.browser.users import served
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import with_texts
from tests.spec_ui.test_explain import Calibrated

NAME, ROOT = "Methods", "#methods"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("methods")
    for method, draft_len in {"draft": 4, "lookup": 2}.items():
        trace = fake_trace.make(temperature=0, draft_len=draft_len)
        trace["run"]["method"] = method
        (folder / f"chat-{method}.json").write_text(json.dumps(trace), encoding="utf-8")
    slow = fake_trace.make(limit=30)
    slow["plain"]["elapsed_s"] = [t / 4 for t in slow["plain"]["elapsed_s"]]
    (folder / "list-draft.json").write_text(json.dumps(slow), encoding="utf-8")
    with served(Calibrated(), folder) as url:
        yield url


@pytest.fixture
def user(visit, url):
    user = visit(url)
    go(user, NAME, ROOT)
    user.page.wait_for_selector(f"{ROOT} .ss-lane")
    return user


def test_a_card_for_every_proposer_with_its_figures(user):
    cards = {c.get_attribute("data-method"): c.inner_text() for c in user.page.locator(".ss-method").all()}
    assert set(cards) == {"draft", "lookup", "suffix", "lookup+draft", "lookup+eagle", "eagle", "medusa", "early-exit", "plain"}
    for name, text in cards.items():
        for part in ("Who proposes", "Memory", "Needs", "Choose it when", "Here", "Paper"):
            assert part in text, (name, part)
        assert "arxiv.org" in text or "github.com" in text
    assert "of tested drafts accepted" in cards["draft"] and "No recorded run" in cards["medusa"]
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
    assert [lane.get_attribute("data-method") for lane in lanes.all()] == ["draft model", "earlier text", "plain decoding"]
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
    assert lanes.count() == 2 and number(user, ".ss-side-by-side", "data-t") > 0
    assert "First over these " in user.text(".ss-side-by-side > div > .ss-say") and "At temperature 0" in user.text(".ss-side-by-side")
    page.locator(f"{ROOT} .ss-side-by-side summary").click()
    assert page.locator(".ss-side-by-side tbody tr").count() == 2


def test_a_sampled_recording_has_no_plain_text_and_says_why_it_is_slower(user):
    user.page.locator(f"{ROOT} input[value=list]").check(force=True)
    user.wait("() => document.querySelectorAll('.ss-lane').length === 2 && document.querySelector('.ss-lane:last-child .ss-sub')")
    assert "each token is a dot" in user.text(".ss-lane:last-child .ss-sub")
    assert "another throw of the dice" in user.text(".ss-side-by-side")
    assert user.text(".ss-side-by-side .ss-slowwords").startswith("draft model: slower here, because")


@pytest.mark.parametrize("name", ["script", "image", "literal", "rtl", "long", "newline", "none"])
def test_hostile_tokens_are_text_at_320(visit, tmp_path, name):
    trace = with_texts(fake_trace.make(limit=12), [HOSTILE[name]])
    trace["run"]["method"] = "<img src=x onerror=window.__hit=1>"
    (tmp_path / "<b>${1}-draft.json").write_text(json.dumps(trace), encoding="utf-8")
    with served(Calibrated(), tmp_path) as url:
        user = visit(url, viewport={"width": 320, "height": 800}, color_scheme="dark", reduced_motion="reduce")
        go(user, NAME, ROOT)
        user.page.wait_for_selector(f"{ROOT} .ss-lane")
        user.page.locator(f"{ROOT} .ss-racebar input").evaluate("n => { n.value = n.max; n.dispatchEvent(new Event('input', {bubbles: true})); }")
        assert int(user.page.locator(".ss-lane").first.get_attribute("data-tokens")) > 5
        assert user.page.locator(".ss-method").count() == 10, "an unknown method gets a card of its own, its name as text"
        assert user.page.evaluate("() => window.__hit === undefined")
        assert user.page.locator("#methods script, #methods img, #methods b b").count() == 0
        assert not user.sideways()


def test_no_recordings_at_all(visit, tmp_path):
    with served(Calibrated(), tmp_path) as url:
        user = visit(url, ready=".ss-empty:not([hidden])")
        go(user, NAME, ROOT)
        assert "No recorded run is here yet." in user.text(".ss-side-by-side")
