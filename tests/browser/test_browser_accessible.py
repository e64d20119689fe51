"""axe-core over the page, where its package is installed: no serious finding in either scheme, mid-run and at a phone's width."""

import pytest

from tests.browser.users import served
from tests.spec_ui.fake_engine import FakeEngine

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python to scan the page with axe-core.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_serious_findings(visit, traces, scheme, width):
    with served(FakeEngine(), traces) as url:
        user = visit(url, color_scheme=scheme, viewport={"width": width, "height": 900})
        user.page.wait_for_selector(".ss-plot .main-svg")
        for keys in ((), ("Home", "ArrowRight", "ArrowRight")):
            for key in keys:
                user.page.keyboard.press(key)
            user.at()
            found = axe.Axe().run(user.page).response["violations"]
            assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")] == []
