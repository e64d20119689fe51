"""What if: the browser computes every change; a live branch goes to the server, which checks it."""

import pytest

from tests.spec_ui.fake_engine import FakeEngine

PANEL = "#player .ss-whatifpanel"


@pytest.fixture
def site(serve):
    return serve(engine=FakeEngine(pace=0.002))


def opened(visit, site, **options):
    """A visitor at a rejected token with the panel open."""
    user = visit(site, "?run=chat-draft&round=10", **options)
    user.wait("() => document.querySelector('#player .ss-mount').dataset.round === '10'")
    user.page.locator(f"{PANEL} summary").click()
    user.page.wait_for_selector(f"{PANEL} .ss-distrow:not(.ss-disthead)")
    return user


@pytest.fixture
def user(visit, site):
    return opened(visit, site, clock=True)


def outcome(user) -> str:
    return user.page.get_attribute(PANEL, "data-verdict")


def test_u_changes_the_outcome_by_hand_and_by_key(user):
    page = user.page
    kept = page.locator('#player .ss-card[data-kind="accepted"]')
    texts = [kept.nth(i).inner_text() for i in range(kept.count())]
    assert outcome(user) == "rejected" and "≥ p/q" in user.text(f"{PANEL} .ss-say2")
    page.locator(f"{PANEL} .ss-u").fill("0")
    assert outcome(user) == "accepted" and "is accepted" in user.text(f"{PANEL} .ss-say2")
    page.locator(f"{PANEL} .ss-u").focus()
    for _ in range(3):
        page.keyboard.press("End")  # a key of the slider, not of the player
    assert outcome(user) == "rejected" and user.at()[0] == "10"
    assert page.locator(f"{PANEL} .ss-u").get_attribute("aria-valuetext").startswith("u = 1")
    page.locator(f"{PANEL} .ss-headrow button").click()
    assert "In the run u was" in user.text(f"{PANEL} .ss-wu") and len(texts) == 2


def test_distributions_are_pulled_and_stay_distributions(user):
    page = user.page
    bar = page.locator(f"{PANEL} .ss-distbar.ss-q[role=slider]").first
    before = user.text(f"{PANEL} .ss-wdists > .ss-note")
    bar.focus()
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    assert user.text(f"{PANEL} .ss-wdists > .ss-note") != before
    total = page.evaluate(
        "() => [...document.querySelectorAll('#player .ss-distbar.ss-q[role=slider]')]"
        ".reduce((s, n) => s + Number(n.getAttribute('aria-valuenow')), 0)"
    )
    assert 97 <= total <= 103, "rounded one by one"
    box = page.locator(f"{PANEL} .ss-distbar.ss-p .ss-rail").first.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert int(page.locator(f"{PANEL} .ss-distbar.ss-p[role=slider]").first.get_attribute("aria-valuenow")) >= 85
    assert user.at()[0] == "10"


def test_temperature_says_what_it_leaves_out(user):
    heat = user.page.locator(f"{PANEL} .ss-heat")
    heat.fill("0")
    assert "greedy" in user.text(f"{PANEL} .ss-heatrow output")
    assert sorted(user.page.eval_on_selector_all(f"{PANEL} .ss-distbar.ss-p", "n => n.map(x => x.getAttribute('aria-valuenow'))"))[-1] == "100"
    heat.fill("2")
    assert "the tokens not listed are left out" in user.text(f"{PANEL} .ss-wdists")


def test_a_thousand_draws_and_another_draft_length(user):
    page = user.page
    page.locator(f"{PANEL} .ss-roll").click()
    assert user.text(f"{PANEL} .ss-wroll").count("p ") >= 4 and "1,000 draws" in user.text(f"{PANEL} .ss-wroll")
    page.locator(f"{PANEL} .ss-roll").click()
    assert "2,000 draws" in user.text(f"{PANEL} .ss-wroll")
    page.locator(f"{PANEL} .ss-length").nth(7).click()
    assert user.text(f"{PANEL} .ss-wlength").count("Drafting 8:") == 1 and "never drafted that far" in user.text(f"{PANEL} .ss-wlength")
    page.keyboard.press("ArrowLeft")
    assert "Drafting 7:" in user.text(f"{PANEL} .ss-wlength") and user.at()[0] == "10"


def test_nothing_of_it_asks_the_server(user):
    user.page.clock.run_for(2000)
    user.model_ready()
    user.quiet()
    before = list(user.requests)
    user.page.locator(f"{PANEL} .ss-u").fill("0.2")
    user.page.locator(f"{PANEL} .ss-heat").fill("1.5")
    user.page.locator(f"{PANEL} .ss-roll").click()
    user.page.locator(f"{PANEL} .ss-length").nth(2).click()
    user.page.keyboard.press("Home")
    user.page.clock.run_for(2000)
    user.quiet()
    assert user.requests == before


def test_a_forced_token_goes_on_live_and_the_text_given_is_shown(visit, site):
    user = opened(visit, site)              # with a clock that a test moves, Gradio's client can lose its place in a stream
    engine, page = site.engine, user.page
    text = page.locator(f"{PANEL} .ss-sofartext").input_value()
    page.locator(f"{PANEL} .ss-force").select_option(index=1)
    page.locator(f"{PANEL} .ss-wbranch button").first.click()
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Live run')")
    asked = engine.requests[-1]
    assert asked.prompt == "prompt of chat-draft" and len(asked.after_ids) > 10 and asked.after_text == ""
    user.wait("() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'")
    assert user.text("#player .ss-given").replace("Given: ", "").startswith(text[:40])
    page.locator(f"{PANEL} .ss-sofartext").fill("Once </s> ${x} <img src=x onerror=window.__hit=1>")
    page.locator(f"{PANEL} .ss-wbranch button").nth(1).click()
    user.wait("() => document.querySelector('#player .ss-given').textContent.includes('Once </s> ${x} <img')")
    assert engine.requests[-1].after_text.startswith("Once </s>") and page.evaluate("() => window.__hit === undefined")


def test_a_branch_without_a_model_is_refused_in_words(visit, serve):
    user = visit(serve(engine=FakeEngine(phase="loading")))
    user.page.locator(f"{PANEL} summary").click()
    user.page.locator(f"{PANEL} .ss-wbranch button").first.click()
    user.says("#notice", "not ready yet")


def test_the_settings_of_a_method_reach_the_run(visit, site):
    engine, user = site.engine, visit(site)
    page = user.page
    page.locator("#settings summary").click()
    page.locator("#settings [data-setting=tree]").fill("3x2x1")
    page.locator("#settings [data-setting=lookup_match]").select_option("first")
    page.locator("#auto input").check()
    page.locator("#run").click()
    user.says("#notice", "Done")
    asked = engine.requests[-1]
    assert (asked.settings, asked.draft_len) == ({"tree": "3x2x1", "lookup_match": "first"}, "auto")
    page.locator("#settings [data-setting=ngram_max]").fill("99")
    page.locator("#run").click()
    user.says("#notice", "must be a whole number")
    page.locator("#method").get_by_label("Plain decoding", exact=True).check(force=True)
    user.wait("() => !document.querySelector('#settings details')")


def test_numbers_up_to_here_stand_beside_the_whole_and_the_legend_filters(user):
    page = user.page
    assert "up to round" in user.text("#player .ss-big")
    page.locator("#player .ss-roundpanel h2").click()
    page.keyboard.press("End")
    user.at()
    assert "up to round" not in user.text("#player .ss-stats")
    page.locator('#player [data-filter="bonus"]').click()
    opacity = 'kind => getComputedStyle(document.querySelector(`#player .ss-text .ss-tok[data-kind="${kind}"]`)).opacity'
    assert page.evaluate(opacity, "bonus") == "1" and float(page.evaluate(opacity, "accepted")) < 0.5
    page.locator('#player [data-filter="bonus"]').click()
    assert page.evaluate(opacity, "accepted") == "1"


def test_the_panel_fits_any_width(visit, site):
    user = visit(site, viewport={"width": 320, "height": 740})
    user.page.locator(f"{PANEL} summary").click()
    user.page.wait_for_selector(f"{PANEL} .ss-distbar")
    user.page.locator(f"{PANEL} .ss-roll").click()
    for width in (320, 360, 1280):
        user.resize(width)
        assert not user.sideways(), width


def test_right_to_left_text_runs_from_right_to_left(visit, serve):
    user = visit(serve("hostile", FakeEngine(phase="loading")), "?run=arabic-draft", viewport={"width": 900, "height": 800})
    user.wait("() => window.Specscope.players[0].trace.name === 'arabic-draft'")
    lefts = user.page.eval_on_selector_all("#player .ss-text .ss-tok", "n => n.slice(0, 3).map(x => x.getBoundingClientRect().left)")
    assert lefts[0] > lefts[1] > lefts[2]
    assert not user.sideways()
