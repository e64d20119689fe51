"""The address, links, commands and files: what comes in is checked, and what is saved opens again, hostile texts included."""

import json
from pathlib import Path

import pytest

from tests.browser.folders import HOSTILE
from tests.browser.users import LIMIT_S
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import FakeEngine, with_texts


@pytest.fixture
def site(serve):
    return serve(engine=FakeEngine(phase="loading", progress=0.5))


def copied(user) -> str:
    return user.page.evaluate("() => navigator.clipboard.readText()")


def test_the_address_opens_recording_round_and_step_and_follows(visit, site):
    user = visit(site, "?run=list-draft&round=4&step=1")
    user.wait("() => document.querySelector('.ss-caption').textContent.includes('greedy')")
    assert user.at() == ("4", "draft")
    assert user.page.locator("#prompt textarea").input_value() == "prompt of list-draft"
    user.page.locator("#player .ss-roundpanel h2").click()
    user.page.keyboard.press("Shift+ArrowRight")
    user.page.keyboard.press("Shift+ArrowRight")
    user.wait("() => location.search.includes('round=5')")
    assert "run=list-draft" in user.page.url


def test_a_bad_address_is_as_none_and_said_once(visit, site):
    user = visit(site, "?run=<script>window.__hit=1</script>&round=-4&step=zz&lang=xx&tab=admin&view=edit&lesson=99&done=zz")
    user.says("#notice", "no recorded run of that name")
    assert user.page.evaluate("() => window.__hit === undefined") and "chat-draft" in user.page.locator("#prompt textarea").input_value()
    user = visit(site, "?round=9999&step=999")
    assert user.at()[0] == user.page.get_attribute(".ss-scrub", "aria-valuemax")


def test_copy_link_and_command(visit, site):
    user = visit(site, permissions=["clipboard-read", "clipboard-write"])
    user.page.locator("#player .ss-roundpanel h2").click()
    user.page.keyboard.press("Home")
    user.page.keyboard.press("Shift+ArrowRight")
    user.page.locator('#player [data-act="link"]').click()
    user.wait("() => document.querySelector('#player .ss-share .ss-note').textContent.includes('link is copied')")
    assert copied(user).startswith(f"{site.url}?") and "run=chat-draft&round=1" in copied(user)
    again = visit(site, "?" + copied(user).split("?", 1)[1])
    assert again.at()[0] == "1"
    user.page.locator('#player [data-act="command"]').click()
    user.wait("() => document.querySelector('#player .ss-share .ss-note').textContent.includes('command is copied')")
    assert copied(user).startswith("specscope run --prompt='prompt of chat-draft' ")


def save(user, act: str) -> Path:
    with user.page.expect_download() as got:
        user.page.locator(f'#player [data-act="{act}"]').click()
    return Path(got.value.path())


def test_save_open_and_refuse_files(visit, site, tmp_path):
    user = visit(site)
    page = user.page
    trace = json.loads(save(user, "save").read_text(encoding="utf-8"))
    assert trace["version"] == 1 and trace["rounds"] and trace["plain"] and "source" not in trace
    hostile = with_texts(fake_trace.make(limit=20), [HOSTILE["script"], "${1}", "{{x}}", HOSTILE["rtl"], "</s>"])
    hostile["run"].update(prompt=HOSTILE["script"], target=HOSTILE["image"])
    (tmp_path / "h.json").write_text(json.dumps(hostile), encoding="utf-8")
    before = len(user.requests)
    page.locator("#player .ss-share input[type=file]").set_input_files(tmp_path / "h.json")
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Opened from a file')")
    assert page.evaluate("() => window.__hit === undefined") and "<img" in user.text(".ss-caption")
    page.locator('#player [data-act="link"]').click()
    user.wait("() => document.querySelector('#player .ss-share .ss-note').textContent.startsWith('A link can name a recording only')")
    page.locator(".ss-whatifpanel summary").click()
    page.wait_for_selector(".ss-distbar")
    assert page.locator("#player script, #player img").count() == 0
    assert not [r for r in user.requests[before:] if "upload" in r], "the file stays in the browser"
    for name, text, said in (
        ("x.json", "<html>", "not JSON"),
        ("x.json", "{}", "no run facts"),
        ("x.ndjson", "", "empty"),
        ("x.json", json.dumps({**trace, "version": 3}), "version 3"),
        ("big.json", " " * (8 * 1024 * 1024 + 1), "larger than 8 MB"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        page.locator("#player .ss-share input[type=file]").set_input_files(tmp_path / name)
        user.says("#player .ss-share .ss-note", said)
    assert page.locator("#player .ss-tok").count() > 3, "the trace that was open stays"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_saved_page_works_by_double_click_without_a_server(visit, site, browser, tmp_path, scheme):
    user = visit(site, "?lang=ru" if scheme == "dark" else "", color_scheme=scheme)
    hostile = with_texts(fake_trace.make(limit=24), [*list(HOSTILE.values())[:9], "\u2028\u2029", "<!--", "]]>"])
    hostile["run"]["prompt"] = "</script><script>window.__hit=1</script>\u2028"
    (tmp_path / "h.json").write_text(json.dumps(hostile), encoding="utf-8")
    user.page.locator("#player .ss-share input[type=file]").set_input_files(tmp_path / "h.json")
    user.wait("() => document.querySelector('#player .ss-share .ss-note').textContent.includes('h.json')")
    (tmp_path / "saved.html").write_bytes(save(user, "html").read_bytes())
    problems, requests = [], []
    context = browser.new_context(offline=True, viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.set_default_timeout(LIMIT_S * 1000)
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("request", lambda r: requests.append(r.url))
    page.goto((tmp_path / "saved.html").as_uri())
    page.wait_for_selector("#player .ss-tok")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("() => document.querySelector('#player').dataset.round === '1'")
    page.locator(".ss-whatifpanel summary").click()
    page.wait_for_selector(".ss-distbar")
    page.wait_for_selector(".ss-race svg.ss-chart")  # a chart by hand where Plotly is not
    assert "</script>" in page.locator(".ss-prompt").inner_text() and page.locator(".ss-header h1").inner_text() == "Specscope"
    assert page.locator(".ss-intro p").count() == 5 and page.locator(".ss-intro .ss-btn").count() == 0
    assert page.locator(".ss-wbranch:visible").count() == 0 and page.locator('[data-act="link"]').count() == 0
    assert page.evaluate("() => window.__hit === undefined") and page.locator("#player img, #player script").count() == 0
    assert page.get_attribute("html", "lang") == ("ru" if scheme == "dark" else "en")
    paper = page.evaluate("() => getComputedStyle(document.querySelector('.ss-panel')).backgroundColor")
    assert (paper == "rgb(28, 31, 37)") == (scheme == "dark")
    assert len(requests) == 1 and problems == [], (requests, problems)
    context.close()


def test_themes_change_without_a_reload_and_stay_in_the_address(visit, site):
    user = visit(site, color_scheme="light")
    user.page.locator("#theme").click()
    user.wait("() => location.search.includes('__theme=dark')")
    assert user.page.evaluate("() => getComputedStyle(document.querySelector('.ss-panel')).backgroundColor") == "rgb(28, 31, 37)"
