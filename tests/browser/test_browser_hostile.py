"""Model text and visitor text are hostile text: shown literally wherever text is shown, never run, the page stays whole."""

from tests.browser.folders import HOSTILE
from tests.spec_ui.fake_engine import FakeEngine

# What a reader must find on the page for each (in a card, with spaces and controls as glyphs).
SHOWN = {
    "script": "␣<script>window.__hit␣=␣1</",
    "image": "<img␣src=x␣onerror=window",
    "literal": "${window.__hit␣=␣1}",
    "handlebars": "{{constructor}}{{{x}}}",
    "backslash": "C:\\users\\u\\x␣`${HOME}`",
    "eos": "</s>",
    "markup": "<b>x</b><br>",
    "rtl": "<U+202E>مرحبا␣بالعالم<U+202C>"[:25],
    "emoji": "👩\u200d👩",
    "half": "\ufffd",
    "bytes": "<0xF0>",
    "newline": "a↵↵",
    "long": "x" * 25,
    "tabs": "⇥␣␛[31m␀",
    "quote": "\"'>",
    "space": "␣␣␣",
    "none": "∅",
}
RUN = """([ask]) => document.querySelector('#player .ss-prompt')?.textContent.includes(ask)
  && document.querySelector('.ss-caption').textContent.startsWith('Live run')
  && document.querySelector('#player .ss-mount').dataset.complete === 'plain'"""


def test_tokens_and_tables_show_it_literally(visit, serve):
    """One visit for all texts: each is a live run of its own."""
    site = serve()
    user = visit(site, viewport={"width": 360, "height": 740})
    page = user.page
    for name in HOSTILE:
        site.engine.texts = [HOSTILE[name]]
        page.locator("#max-new input[type=number]").fill("6" if name == "long" else "12")  # each table of a long text is 100 KB
        page.locator("#prompt textarea").fill((f"ask {name} " + HOSTILE[name])[:4000])
        page.locator("#run").click()
        user.wait(RUN, [f"ask {name} "])
        page.locator(".ss-roundpanel h2").click()  # keys go to the player, not to the prompt
        for key in ("Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
            page.keyboard.press(key)
            user.at()
        expected = SHOWN[name]
        for place in (".ss-card:not([disabled]) code", ".ss-name"):
            texts = page.eval_on_selector_all(place, "nodes => nodes.map(n => n.textContent)")
            assert any(t.rstrip("…")[:12] == expected[:12] for t in texts), (name, place, texts, expected)
        page.locator(".ss-whatifpanel:not([open]) summary, .ss-whatifpanel[open] > .ss-whatif").first.click(position={"x": 4, "y": 4})
        page.wait_for_selector(".ss-whatifpanel .ss-distbar")
        page.locator(".ss-whatifpanel .ss-roll").click()
        page.locator('#player [data-filter="accepted"]').click()
        for place in (".ss-whatifpanel .ss-distname", ".ss-whatifpanel .ss-rolls th", ".ss-whatifpanel .ss-force option"):
            texts = page.eval_on_selector_all(place, "nodes => nodes.map(n => n.textContent)")
            assert any(t.rstrip("…")[:12].rstrip() == expected[:12] or t.startswith(expected[:12]) for t in texts), (name, place, texts, expected)
        if HOSTILE[name].strip():
            assert HOSTILE[name][:30].strip()[:10] in page.locator(".ss-sofartext").input_value() or name in ("newline", "tabs")
        assert page.evaluate("() => window.__hit === undefined"), name
        assert page.locator("#player script, #player img").count() == 0, name
        assert not user.sideways(), name
        page.locator(".ss-text .ss-tok").first.hover(force=True)
        assert not user.sideways(), name
        page.locator('#player [data-filter="accepted"]').click()


def test_run_facts_and_names_are_text_too(visit):
    user = visit("hostile")
    assert "<img" in user.text(".ss-caption") and "${window" in user.text(".ss-caption")
    assert user.page.locator("#prompt textarea").input_value() == HOSTILE["script"] + HOSTILE["literal"]
    assert user.page.evaluate("() => window.__hit === undefined")


def test_no_recordings_at_all(visit, serve):
    user = visit(serve("none", FakeEngine()), ready=".ss-empty:not([hidden])")
    assert "No recorded run" in user.text(".ss-empty")
    user.page.locator("#prompt textarea").fill("hello")
    user.page.locator("#run").click()
    user.page.wait_for_selector("#player .ss-tok")
