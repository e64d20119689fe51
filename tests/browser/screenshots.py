"""The pictures in README: `python -m tests.browser.screenshots [OUT]` makes them from a recorded run, without a model or a network."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from tests.browser.conftest import CHROMIUM, ROOT

MOST_BYTES = 150_000
CLOSED = "localStorage.setItem('specscope-intro', 'closed')"
# name: (address, context, what must be on screen, what then to do)
SHOTS = {
    "desktop": ("?run=chat-eagle&round=25", {"viewport": {"width": 1280, "height": 1560}}, ".ss-plot .main-svg", ""),
    "dark": ("?tab=lossless&__theme=dark", {"viewport": {"width": 1280, "height": 1180}, "color_scheme": "dark"}, "#lossless .ss-distrow", ""),
    "phone": (
        "?run=chat-eagle&round=42",
        {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
        "#player .ss-card",
        "document.querySelector('#player .ss-runpanel').scrollIntoView()",
    ),
    "presenter": ("?tab=lesson&lesson=2&view=present", {"viewport": {"width": 1280, "height": 800}}, "#lesson [data-guess]", ""),
}


def small(png: bytes) -> bytes:
    """The picture as WebP, as good as MOST_BYTES allow."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in (92, 84, 76, 66, 55):
        out = io.BytesIO()
        picture.save(out, "WEBP", quality=quality, method=6)
        if out.tell() <= MOST_BYTES:
            break
    return out.getvalue()


def main(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    from spec_ui.server import recordings
    from tests.browser.sites import Site
    from tests.browser.users import LIMIT_S

    folder.mkdir(parents=True, exist_ok=True)
    site = Site(recordings.FOLDER)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (query, context, ready, then) in SHOTS.items():
            page = browser.new_context(**context).new_page()
            page.add_init_script(CLOSED)
            page.goto(site.url + query)
            page.wait_for_selector(ready, timeout=LIMIT_S * 1000)
            page.wait_for_timeout(1500)  # the chart that is drawn late, and what moves
            if then:
                page.evaluate(then)
            data = small(page.screenshot())
            (folder / f"{name}.webp").write_bytes(data)
            print(f"{folder / name}.webp: {len(data):,} bytes")
            page.context.close()
        browser.close()
    site.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "assets" / "screenshots")
