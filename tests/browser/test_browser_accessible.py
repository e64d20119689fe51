"""axe-core over every tab, where its package is installed: no serious or critical finding in either scheme and language, presenting, mid-run,
and at a phone's width."""

import pytest

from spec_ui.language import TABS

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python to scan the page with axe-core.")
READY = {
    "watch": "#player .ss-plot .main-svg",
    "lossless": "#lossless .ss-tokenbtn",
    "faster": "#faster .ss-posbar",
    "methods": "#methods .ss-lane",
    "lesson": "#lesson .ss-lessoncard[data-open]",
}


def serious(page) -> list:
    found = axe.Axe().run(page).response["violations"]
    return [(v["id"], [n["html"][:160] for n in v["nodes"]][:3]) for v in found if v["impact"] in ("serious", "critical")]


def test_no_serious_findings_mid_run_at_a_phones_width(visit):
    user = visit(viewport={"width": 360, "height": 900}, plotly=True)
    user.page.wait_for_selector(".ss-plot .main-svg")
    user.page.locator("#player .ss-whatifpanel summary").click()
    for keys in ((), ("Home", "ArrowRight", "ArrowRight")):
        for key in keys:
            user.page.keyboard.press(key)
        user.at()
        assert serious(user.page) == []


# Colours depend on the scheme alone and words on the language alone: two of the four pairs have both of each.
@pytest.mark.parametrize("scheme, lang", [("light", "en"), ("dark", "ru")])
def test_no_serious_findings_in_any_tab(visit, scheme, lang):
    user = visit(query=f"?lang={lang}", color_scheme=scheme, plotly=True)
    found = {}
    for tab in TABS:
        user.go(tab, READY[tab])
        found[tab] = serious(user.page)
        assert "[[" not in user.text("body"), f"{tab}: a term's mark-up is shown where terms are not drawn"
    user.page.goto(f"{user.url}?lang={lang}&tab=lesson&lesson=10&view=present")
    user.page.wait_for_selector("#lesson .ss-quiz")
    found["presenting"] = serious(user.page)
    assert {tab: what for tab, what in found.items() if what} == {}
