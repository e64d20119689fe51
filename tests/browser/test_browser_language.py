"""English and Russian: on opening and by a choice, in every tab, without a reload; names and order of the methods."""

import re

import pytest

from core.methods.catalog import LABELS
from spec_ui.server import recordings
from tests.spec_ui.fake_engine import FakeEngine

RUSSIAN = "() => document.querySelector('#run').textContent.trim() === 'Запустить'"
ENGLISH = "() => document.querySelector('#run').textContent.trim() === 'Run'"


def test_the_whole_page_in_russian_from_the_address(visit):
    user = visit(query="?lang=ru")
    user.says("#header", "Маленькая модель")
    page = user.page
    assert "пишет по-английски" in user.text("#header") and user.text("#run") == "Запустить"
    assert "Модель-черновик (draft model)" in user.text("#method") and "беседа" in user.text("#example")
    assert "быстрее обычной генерации" in user.text("#player .ss-big") and page.get_attribute("html", "lang") == "ru"
    user.says("#model-state", "загружена")
    for width in (320, 1280):
        user.resize(width)
        assert not user.sideways(), width
    for tab, sign in (
        ("Почему ничего не теряется", "Ничего не теряется"),
        ("Почему быстрее", "Почему бывает быстрее"),
        ("Методы", "Методы: откуда берётся черновик"),
        ("Урок", "за десять шагов"),
    ):
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(sign).first.wait_for(state="visible")
    user.wait("() => location.search.includes('tab=lesson')")


def test_the_language_changes_without_a_reload_and_keeps_the_place(visit, serve):
    user = visit(serve(engine=FakeEngine(pace=0.002)))
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
    user.says("#player .ss-big", "быстрее")
    assert user.at() == here and page.evaluate("() => window.stayed") and page.locator(".ss-whatifpanel[open]").count() == 1
    assert "u =" in user.text(".ss-whatif") or "p/q" in user.text(".ss-whatif")
    assert re.search(r"\d,\d\d×", user.text("#player .ss-big")) and re.findall(r".{0,20}\d\.\d.{0,9}", user.text("#player .ss-body")) == []
    page.locator("#prompt textarea").fill(" ")
    page.locator("#run").click()
    user.says("#notice", "Сначала напишите промпт")
    page.locator("#prompt textarea").fill("hello")
    page.locator("#run").click()
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Живая генерация')")
    user.says("#notice", "Готово")
    page.get_by_label("English").check(force=True)
    user.wait(ENGLISH)
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Live run')")
    user.wait("() => !location.search.includes('lang=')")
    assert re.search(r"\d\.\d", user.text("#player .ss-body")) and not re.search(r"\d,\d", user.text("#player .ss-stats"))


def test_a_russian_browser_opens_in_russian_and_the_address_wins(visit):
    user = visit(locale="ru-RU")
    user.wait(RUSSIAN)
    user.says("#notice", "Это запись")
    user.says("#model-state", "загружена")
    page = user.page
    assert "быстрее обычной генерации" in user.text("#player .ss-big") and page.get_attribute("html", "lang") == "ru"
    assert "lang=" not in page.url and "Language" not in page.locator("body").inner_text() and page.get_by_label("Русский").is_checked()
    page.locator('#player [data-act="link"]').click()
    user.wait("() => location.search.includes('lang=ru')")  # the link's reader may have another browser
    page.get_by_label("English").check(force=True)  # said in the address, since this browser would not open in English by itself
    user.wait("() => location.search.includes('lang=en')")
    user.wait(ENGLISH)
    assert user.text("#notice").strip() == "This is a recorded run: play it, or step through it."
    page.reload()
    page.wait_for_selector("#model-state")
    user.says("#model-state", "ready")
    assert user.text("#run") == "Run" and page.get_attribute("html", "lang") == "en"
    page.get_by_label("Русский").check(force=True)
    user.wait(RUSSIAN)
    user.wait("() => !location.search.includes('lang=')")


def test_a_browser_of_a_third_language_opens_in_english(visit):
    user = visit(locale="de-DE")
    user.says("#model-state", "ready")
    assert user.text("#run") == "Run" and user.page.get_attribute("html", "lang") == "en" and "lang=" not in user.page.url


@pytest.mark.parametrize(
    "lang, plain, hint, sentence",
    [
        ("en", "Plain decoding", "nobody drafts", "Plain decoding: nobody drafts;"),
        ("ru", "Обычная генерация", "никто не предлагает", "Обычная генерация: черновика нет"),
    ],
)
def test_a_methods_name_hint_and_sentence_are_in_the_pages_language(visit, lang, plain, hint, sentence):
    user = visit(query=f"?lang={lang}")
    user.says("#method", plain)
    user.model_ready()
    chip = user.page.locator("#method label").filter(has_text=plain)
    assert chip.get_attribute("title") == hint
    user.page.locator("#method").get_by_label(plain, exact=True).check(force=True)
    user.says("#notice", sentence)
    user.page.evaluate("lang => window.Specscope.setLanguage(lang)", "ru" if lang == "en" else "en")
    user.wait("hint => [...document.querySelectorAll('#method label')].every((label) => label.title && label.title !== hint)", hint)


def test_the_chips_of_the_methods_stand_in_the_catalogs_order(visit, serve):
    user = visit(serve("real", FakeEngine(phase="loading")))
    names = user.page.eval_on_selector_all("#method label", "nodes => nodes.map(n => n.textContent.trim())")
    known = {*recordings.methods(recordings.FOLDER), "draft", "lookup", "plain"}
    assert len(names) > 6 and names == [label for name, label in LABELS.items() if name in known]
