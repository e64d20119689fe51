"""The pictures in README are those the script draws, and small."""

from spec_ui.bundle import ASSETS
from tests.browser.screenshots import MOST_BYTES, SHOTS


def test_every_picture_is_there_and_small():
    found = {p.stem: p for p in (ASSETS / "screenshots").iterdir()}
    assert set(found) == set(SHOTS) == {"desktop", "phone", "dark", "presenter"}
    for path in found.values():
        data = path.read_bytes()
        assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and 10_000 < len(data) <= MOST_BYTES, path
