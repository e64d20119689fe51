"""Model text and visitor text are hostile text: shown literally wherever text is shown, never run, the page stays whole."""

import json

import pytest

from tests.browser.users import served
from tests.spec_ui import fake_trace
from tests.spec_ui.fake_engine import FakeEngine, with_texts

HOSTILE = {
    "script": " <script>window.__hit = 1</script>",
    "image": "<img src=x onerror=window.__hit=1>",
    "literal": "${window.__hit = 1}",
    "handlebars": "{{constructor}}{{{x}}}",
    "backslash": "C:\\users\\u\\x `${HOME}`",
    "eos": "</s>",
    "markup": "<b>x</b><br>",
    "rtl": "\u202eمرحبا بالعالم\u202c",
    "emoji": "👩\u200d👩",
    "half": "\ufffd",
    "bytes": "<0xF0>",
    "newline": "a\n\n",
    "long": "x" * 10_000,
    "tabs": "\t \x1b[31m\x00",
    "quote": "\"'>",
    "space": "   ",
    "none": "",
}
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


@pytest.fixture(scope="module")
def served_with(traces, tmp_path_factory):
    engine = FakeEngine()
    with served(engine, traces) as url:
        yield engine, url


@pytest.mark.parametrize("name", HOSTILE)
def test_tokens_and_tables_show_it_literally(visit, served_with, name):
    engine, url = served_with
    engine.texts = [HOSTILE[name]]
    user = visit(url, viewport={"width": 360, "height": 740})
    user.page.locator("#prompt textarea").fill(("ask " + HOSTILE[name])[:4000])
    user.page.locator("#max-new input[type=number]").fill("12")
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Live run')")
    user.wait("() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'")
    user.page.locator(".ss-roundpanel h2").click()  # keys go to the player, not to the prompt
    for key in ("Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"):
        user.page.keyboard.press(key)
        user.at()
    expected = SHOWN[name]
    for place in (".ss-card:not([disabled]) code", ".ss-name"):
        texts = user.page.eval_on_selector_all(place, "nodes => nodes.map(n => n.textContent)")
        assert any(t.rstrip("…")[:12] == expected[:12] for t in texts), (place, texts, expected)
    user.page.locator(".ss-whatifpanel summary").click()
    user.page.wait_for_selector(".ss-whatifpanel .ss-lawbar")
    user.page.locator(".ss-whatifpanel .ss-roll").click()
    user.page.locator('#player [data-filter="accepted"]').click()
    for place in (".ss-whatifpanel .ss-lawname", ".ss-whatifpanel .ss-rolls th", ".ss-whatifpanel .ss-force option"):
        texts = user.page.eval_on_selector_all(place, "nodes => nodes.map(n => n.textContent)")
        assert any(t.rstrip("…")[:12].rstrip() == expected[:12] or t.startswith(expected[:12]) for t in texts), (place, texts, expected)
    if HOSTILE[name].strip():
        assert HOSTILE[name][:30].strip()[:10] in user.page.locator(".ss-sofartext").input_value() or name in ("newline", "tabs")
    assert user.page.evaluate("() => window.__hit === undefined")
    assert user.page.locator("#player script, #player img").count() == 0
    assert not user.sideways()
    user.page.locator(".ss-text .ss-tok").first.hover(force=True)
    assert not user.sideways()


def test_run_facts_and_names_are_text_too(visit, tmp_path, browser):
    trace = with_texts(fake_trace.make(limit=12), [HOSTILE["script"], "${1}", "{{x}}"])
    trace["run"].update(target="<img src=x onerror=window.__hit=1>", draft="${window.__hit=1}", device="{{x}}", created="<b>2026")
    trace["run"]["prompt"] = HOSTILE["script"] + HOSTILE["literal"]
    (tmp_path / "chat-draft.json").write_text(json.dumps(trace), encoding="utf-8")
    with served(FakeEngine(), tmp_path) as url:
        user = visit(url)
        assert "<img" in user.text(".ss-caption") and "${window" in user.text(".ss-caption")
        assert user.page.locator("#prompt textarea").input_value() == trace["run"]["prompt"]
        assert user.page.evaluate("() => window.__hit === undefined")


def test_no_recordings_at_all(visit, tmp_path):
    with served(FakeEngine(), tmp_path) as url:
        user = visit(url, ready=".ss-empty:not([hidden])")
        assert "No recorded run" in user.text(".ss-empty")
        user.page.locator("#prompt textarea").fill("hello")
        user.page.locator("#run").click()
        user.page.wait_for_selector("#player .ss-tok")
