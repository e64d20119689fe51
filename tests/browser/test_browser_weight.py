"""What a visitor downloads before the first run: under 3 MB compressed, all of it from our own server."""

import gzip

from tests.browser.users import LIMIT_S

MOST = 3_000_000


def test_page_weight_before_the_first_run(browser, serve):
    url, responses = serve("real").url, []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LIMIT_S * 1000)
    page.on("response", lambda response: responses.append(response))
    page.goto(url)
    page.wait_for_selector("#player .ss-tok")
    page.wait_for_selector(".ss-plot .main-svg")  # the last thing to come
    page.wait_for_function("() => document.querySelector('#model-state').textContent.includes('ready')")
    sizes = {}
    for r in list(responses):
        if not r.url.startswith(("http:", "https:")):
            continue
        assert r.url.startswith(url), f"outside request: {r.url}"
        if "/queue/" in r.url or "/heartbeat/" in r.url or r.status in (204, 301, 302, 304, 307):
            continue
        packed = r.headers.get("content-encoding") in ("gzip", "br", "zstd")
        sizes[r.url.removeprefix(url)] = r.request.sizes()["responseBodySize"] if packed else len(gzip.compress(r.body(), 6))
    context.close()
    total, largest = sum(sizes.values()), sorted(sizes.items(), key=lambda x: -x[1])[:5]
    print(f"\n{total:,} bytes in {len(sizes)} answers; largest: {largest}")
    assert len(sizes) > 5 and total > 100_000, "something was counted"
    assert total < MOST, largest
