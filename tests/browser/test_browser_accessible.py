"""axe-core over every tab, where its package is installed: no serious or critical finding in either scheme and language, presenting, mid-run,
and at a phone's width."""

import pytest

from spec_ui.components.language import TABS
from tests.browser.users import served
from tests.spec_ui.fake_engine import FakeEngine

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python to scan the page with axe-core.")
READY = {"watch": ".ss-plot .main-svg", "lossless": "#lossless .ss-tokenbtn", "faster": "#faster .ss-posbar", "methods": "#methods .ss-lane"}


def serious(page) -> list:
    found = axe.Axe().run(page).response["violations"]
    return [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.fixture(scope="module")
def url(traces):
    with served(FakeEngine(), traces) as url:
        yield url


@pytest.mark.parametrize("width", [360, 1280])
def test_no_serious_findings_mid_run(visit, url, width):
    user = visit(url, viewport={"width": width, "height": 900})
    user.page.wait_for_selector(".ss-plot .main-svg")
    user.page.locator("#player .ss-whatifpanel summary").click()
    for keys in ((), ("Home", "ArrowRight", "ArrowRight")):
        for key in keys:
            user.page.keyboard.press(key)
        user.at()
        assert serious(user.page) == []


@pytest.mark.parametrize("lang", ["en", "ru"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_findings_in_any_tab(visit, url, scheme, lang):
    user = visit(url, f"?lang={lang}", color_scheme=scheme)
    found = {}
    for tab in TABS:
        user.page.locator(f'.ss-tabs [data-tab-id="{tab}"]').click()
        user.page.wait_for_selector(f"{READY.get(tab, '#lesson .ss-lessoncard[data-open]')}:visible", timeout=30_000)
        found[tab] = serious(user.page)
    user.page.goto(f"{url}?lang={lang}&tab=lesson&lesson=10&view=present")
    user.page.wait_for_selector("#lesson .ss-quiz", timeout=30_000)
    found["presenting"] = serious(user.page)
    assert {tab: what for tab, what in found.items() if what} == {}
