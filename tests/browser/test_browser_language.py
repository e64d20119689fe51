"""English and Russian: on opening and without a reload, in every tab; the place is kept."""

import re

import pytest

from tests.browser.users import served
from tests.spec_ui.fake_engine import FakeEngine

RUSSIAN = "() => document.querySelector('#run').textContent.trim() === 'Запустить'"


@pytest.fixture(scope="module")
def url(traces):
    with served(FakeEngine(pace=0.002), traces) as url:
        yield url


def test_the_whole_page_in_russian_from_the_address(visit, url):
    user = visit(url, "?lang=ru")
    user.wait("() => document.querySelector('#header').textContent.includes('Маленькая модель')")
    page = user.page
    assert "пишет по-английски" in user.text("#header") and user.text("#run") == "Запустить"
    assert "модель-черновик" in user.text("#method") and "беседа" in user.text("#example")
    assert "быстрее обычной генерации" in user.text("#player .ss-big") and page.get_attribute("html", "lang") == "ru"
    user.wait("() => document.querySelector('#model-state').textContent.includes('загружена')")
    for tab, sign in (
        ("Почему ничего не теряется", "Ничего не теряется"),
        ("Почему быстрее", "Почему бывает быстрее"),
        ("Методы", "Кто может предлагать"),
        ("Урок", "за десять шагов"),
    ):
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(sign).first.wait_for(state="visible")
    user.wait("() => location.search.includes('tab=lesson')")


def test_the_language_changes_without_a_reload_and_keeps_the_place(visit, url):
    user = visit(url)
    page = user.page
    page.evaluate("() => window.stayed = true")
    page.locator("#player .ss-roundpanel h2").click()
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    here = user.at()
    page.locator(".ss-whatifpanel summary").click()
    page.get_by_label("Русский").check(force=True)
    user.wait(RUSSIAN)
    user.wait("() => document.querySelector('#player .ss-big').textContent.includes('быстрее')")
    assert user.at() == here and page.evaluate("() => window.stayed") and page.locator(".ss-whatifpanel[open]").count() == 1
    assert "u =" in user.text(".ss-whatif") or "p/q" in user.text(".ss-whatif")
    assert re.search(r"\d,\d\d×", user.text("#player .ss-big")) and re.findall(r".{0,20}\d\.\d.{0,9}", user.text("#player .ss-body")) == []
    page.locator("#prompt textarea").fill(" ")
    page.locator("#run").click()
    user.wait("() => document.querySelector('#notice').textContent.includes('Сначала напишите вопрос')")
    page.locator("#prompt textarea").fill("hello")
    page.locator("#run").click()
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Живая генерация')")
    user.wait("() => document.querySelector('#notice').textContent.includes('Готово')")
    page.get_by_label("English").check(force=True)
    user.wait("() => document.querySelector('#run').textContent.trim() === 'Run'")
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Live run')")
    user.wait("() => !location.search.includes('lang=')")
    assert re.search(r"\d\.\d", user.text("#player .ss-body")) and not re.search(r"\d,\d", user.text("#player .ss-stats"))


@pytest.mark.parametrize("width", [320, 1280])
def test_russian_fits(visit, url, width):
    user = visit(url, "?lang=ru", viewport={"width": width, "height": 740})
    user.wait(RUSSIAN)
    assert not user.sideways()


def test_a_russian_browser_opens_in_russian_and_the_address_wins(visit, url):
    user = visit(url, locale="ru-RU")
    user.wait(RUSSIAN)
    user.wait("() => document.querySelector('#notice').textContent.includes('Это запись')")
    user.wait("() => document.querySelector('#model-state').textContent.includes('загружена')")
    page = user.page
    assert "быстрее обычной генерации" in user.text("#player .ss-big") and page.get_attribute("html", "lang") == "ru"
    assert "lang=" not in page.url and "Language" not in page.locator("body").inner_text() and page.get_by_label("Русский").is_checked()
    page.locator('#player [data-act="link"]').click()
    user.wait("() => location.search.includes('lang=ru')")  # the link's reader may have another browser
    page.get_by_label("English").check(force=True)  # said in the address, since this browser would not open in English by itself
    user.wait("() => location.search.includes('lang=en') && document.querySelector('#run').textContent.trim() === 'Run'")
    assert user.text("#notice").strip() == "This is a recorded run: play it, or step through it."
    page.reload()
    page.wait_for_selector("#model-state")
    user.wait("() => document.querySelector('#model-state').textContent.includes('ready')")
    assert user.text("#run") == "Run" and page.get_attribute("html", "lang") == "en"
    page.get_by_label("Русский").check(force=True)
    user.wait(RUSSIAN)
    user.wait("() => !location.search.includes('lang=')")


@pytest.mark.parametrize("locale", ["de-DE", "en-GB"])
def test_every_other_browser_opens_in_english(visit, url, locale):
    user = visit(url, locale=locale)
    user.wait("() => document.querySelector('#model-state').textContent.includes('ready')")
    assert user.text("#run") == "Run" and user.page.get_attribute("html", "lang") == "en" and "lang=" not in user.page.url


@pytest.mark.parametrize("lang, nobody, hint", [("en", "nobody", "Nobody: one target pass"), ("ru", "никто", "Никто: один проход")])
def test_a_methods_hint_is_in_the_pages_language(visit, url, lang, nobody, hint):
    user = visit(url, f"?lang={lang}")
    user.wait(f"() => document.querySelector('#method').textContent.includes('{nobody}')")
    user.wait("() => document.querySelector('#model-state').textContent.trim()")
    user.page.locator("#method").get_by_label(nobody, exact=True).check(force=True)
    user.wait(f"() => document.querySelector('#notice').textContent.includes('{hint}')")
