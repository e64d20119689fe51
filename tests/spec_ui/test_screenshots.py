"""The pictures are those that the script makes, each is small, and README shows them."""

from spec_ui.server.bundle import ASSETS
from tests.browser.screenshots import MOST_BYTES, ROOT, SHOTS


def test_every_picture_is_there_and_small():
    found = {p.stem: p for p in (ASSETS / "screenshots").iterdir()}
    assert set(found) == set(SHOTS) == {"desktop", "phone", "dark", "presenter"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in found.values():
        assert f"assets/screenshots/{path.name}" in readme
        data = path.read_bytes()
        assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and 10_000 < len(data) <= MOST_BYTES, path
