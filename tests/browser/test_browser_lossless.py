"""The tab "Why nothing is lost": distributions pulled by hand and keys, draws against p, broken rules, a real position, hostile tokens."""

import pytest

ROOT = "#lossless"


@pytest.fixture
def user(visit):
    user = visit()
    user.go("lossless", f"{ROOT} .ss-distrow [role=slider]")
    return user


def values(user, which: str) -> list[int]:
    return user.page.eval_on_selector_all(
        f"#lossless .ss-playground .ss-distbar.ss-{which}", "nodes => nodes.map(n => Number(n.getAttribute('aria-valuenow')))"
    )


def dice(user) -> dict:
    return user.page.evaluate("() => ({...document.querySelector('#lossless .ss-dice').dataset})")


def draw(user, rule: str, n: int) -> dict:
    page = user.page
    page.locator(f"{ROOT} .ss-dice input[value='{rule}']").first.check(force=True)
    page.locator(f"{ROOT} .ss-dice input[value='{n}']").first.check(force=True)
    page.locator(f"{ROOT} .ss-go").first.click()
    user.wait(f"() => document.querySelector('#lossless .ss-dice').dataset.n === '{n}' && document.querySelector('.ss-go').dataset.running === 'no'")
    return dice(user)


def test_what_is_shown_on_opening_is_what_is_chosen(user):
    assert dice(user)["n"] == user.page.locator(f"{ROOT} .ss-dice").first.locator("input[name$='-n']:checked").input_value()
    draw(user, "greedy", 10_000)
    names = user.page.locator(f"{ROOT} .ss-dice").first.locator(".ss-chart .ss-mark-text").all_text_contents()
    assert "the right rule" in names, "the faded line of an earlier rule has its name"


def test_bars_are_pulled_by_keys_and_by_hand_and_stay_distributions(user):
    before = values(user, "p")
    bar = user.page.locator("#lossless .ss-playground .ss-distbar.ss-p").first
    bar.focus()
    for key in ("ArrowRight", "Shift+ArrowRight", "PageDown", "ArrowUp"):
        user.page.keyboard.press(key)
    user.at()
    assert values(user, "p")[0] == before[0] + 2 and abs(sum(values(user, "p")) - 100) <= 2
    assert "of leaf" in bar.get_attribute("aria-label") and "percent" in bar.get_attribute("aria-valuetext")
    box = user.page.locator("#lossless .ss-playground .ss-distbar.ss-q .ss-rail").first.bounding_box()
    user.page.mouse.move(box["x"] + 5, box["y"] + 5)
    user.page.mouse.down()
    user.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 5, steps=4)
    user.page.mouse.up()
    user.at()
    assert abs(values(user, "q")[0] - 50) <= 2 and abs(sum(values(user, "q")) - 100) <= 2
    errors = user.page.eval_on_selector_all("#lossless .ss-playground .ss-err", "nodes => nodes.map(n => n.textContent)")
    assert all(e == "0" or "10⁻¹" in e for e in errors), errors
    assert "Accepted and resampled together are p" in user.text("#lossless .ss-playground .ss-note")


def test_presets_and_three_to_six_tokens(user):
    page = user.page
    page.locator("[data-preset=disjoint]").click()
    user.at()
    assert "Σ min(p, q) = 0;" in user.text("#lossless .ss-playground .ss-note")
    assert page.locator("#lossless .ss-playground .ss-distbar.ss-p").count() == 6
    assert page.locator("button[aria-label='One token more']").is_disabled()
    for _ in range(3):
        page.locator("button[aria-label='One token fewer']").click()
        user.at()
    assert len(values(user, "p")) == 3 and page.locator("button[aria-label='One token fewer']").is_disabled()
    page.locator("[data-preset=eager]").click()
    user.at()
    assert values(user, "q")[0] == 91 and page.locator("[data-preset=eager]").get_attribute("aria-pressed") == "true"


def test_the_right_rule_lands_on_p_and_broken_ones_leave_it(user):
    assert draw(user, "right", 100_000)["inside"] == "yes"
    assert "nothing but chance" in user.text(f"{ROOT} .ss-conclusion") or "forty" in user.text(f"{ROOT} .ss-conclusion")
    for rule in ("greedy", "target", "threshold"):
        got = draw(user, rule, 10_000)
        assert got["inside"] == "no" and got["rule"] == rule
        assert "this is not p" in user.text(f"{ROOT} .ss-conclusion") and "too" in user.text(f"{ROOT} .ss-conclusion")
        assert user.page.locator(f"{ROOT} .ss-historow[data-off=yes]").count() > 0
        assert user.text(f"{ROOT} .ss-rulewhy").startswith("Broken:")
    assert "never below" in user.page.locator(f"{ROOT} .ss-dice .ss-chart").first.text_content()
    user.page.locator(f"{ROOT} .ss-dice .ss-tableview summary").first.click()
    user.page.wait_for_selector(f"{ROOT} .ss-dice .ss-tableview[open] tbody tr")
    rows = user.page.eval_on_selector_all(f"{ROOT} .ss-dice .ss-tableview[open] tbody tr", "rows => rows.map(r => r.cells.length)")
    assert len(rows) == 5 and set(rows) == {5}
    user.page.locator(f"{ROOT} .ss-dice .ss-chartbox summary").first.click()
    user.page.wait_for_selector(f"{ROOT} .ss-chartbox details[open] tbody tr")


def test_the_same_seed_draws_the_same_another_does_not(user):
    shares = "() => [...document.querySelectorAll('#lossless .ss-dice')[0].querySelectorAll('.ss-historow .ss-piece')].map(n => n.style.width).join()"
    draw(user, "right", 1000)
    first = user.page.evaluate(shares)
    draw(user, "right", 1000)
    assert user.page.evaluate(shares) == first
    user.page.locator(f"{ROOT} .ss-seedlabel + button").first.click()
    assert user.page.evaluate(shares) != first


def test_a_million_rounds_animate_and_can_be_stopped(visit):
    user = visit(reduced_motion="no-preference")
    user.go("lossless", f"{ROOT} .ss-distrow [role=slider]")
    page = user.page
    page.locator(f"{ROOT} .ss-dice input[value='1000000']").first.check(force=True)
    page.locator(f"{ROOT} .ss-go").first.click()
    user.wait("() => document.querySelector('#lossless .ss-go').dataset.running === 'yes'")
    page.locator(f"{ROOT} .ss-go").first.click()
    assert int(dice(user)["n"]) < 1_000_000 and page.locator(f"{ROOT} .ss-go").first.get_attribute("data-running") == "no"
    assert draw(user, "right", 1_000_000)["n"] == "1000000"


def test_a_real_position(user):
    page, panel = user.page, "#lossless .ss-panel[data-round]"
    page.wait_for_selector(panel)
    first = page.locator(panel).get_attribute("data-round")
    page.locator(f"{panel} .ss-roundrow input").focus()
    page.keyboard.press("ArrowRight")
    user.at()
    assert page.locator(panel).get_attribute("data-round") != first
    page.locator(f"{panel} .ss-tokenbtn").last.click()
    assert page.locator(f"{panel} .ss-tokenbtn").last.get_attribute("aria-pressed") == "true"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.matches('.ss-tokenbtn')")
    assert "all others" in page.locator(f"{panel} .ss-distname").all_text_contents()
    assert page.locator(f"{panel} [role=slider]").count() == 0, "recorded distributions are not pulled at"
    page.locator(f"{panel} .ss-dice input[value='threshold']").check(force=True)
    page.locator(f"{panel} .ss-go").click()
    user.wait("() => document.querySelector('#lossless .ss-panel[data-round] .ss-dice').dataset.n === '10000'")
    assert "runs of draws from p give" in page.locator(f"{panel} .ss-conclusion").inner_text()
    page.locator(f"{panel} fieldset input[value='list-draft']").check(force=True)
    user.wait("() => document.querySelector('#lossless .ss-panel[data-round] p[role=status]').textContent.startsWith('Temperature 0')")


def test_the_same_dice_give_every_method_one_text(visit):
    user = visit("coupled")
    panel = f"{ROOT} .ss-samedice"
    user.go("lossless", f"{panel} .ss-lane")
    page = user.page
    facts = page.locator(panel).evaluate("node => ({...node.dataset})")
    assert facts["lanes"] == "3" and facts["same"] == facts["most"]
    texts = page.locator(f"{panel} .ss-lanetext").all_inner_texts()
    assert len(texts) == 3 and len(set(texts)) == 1 and len(texts[0]) > 60
    passes = page.locator(f"{panel} .ss-lanestate").all_inner_texts()
    assert len(set(passes)) > 1 and all("target passes" in x for x in passes)
    assert f"the first {facts['most']} tokens are the same" in user.text(f"{panel} .ss-note")
    page.locator(f"{panel} input[type=range]").focus()
    page.keyboard.press("Home")
    user.at()
    assert page.locator(f"{panel} .ss-racetok").count() == 3 and set(page.locator(f"{panel} .ss-lanestate").all_inner_texts()) == {"1 target pass"}
    page.locator(f"{panel} fieldset label", has_text="seed 8").click()
    page.wait_for_selector(f"{panel}[data-lanes='2']")
    others = page.locator(f"{panel} .ss-lanetext").all_inner_texts()
    assert len(set(others)) == 1 and others[0] != texts[0]
    page.locator(f"{ROOT} .ss-panel[data-round] fieldset input[value='chat-draft-coupled']").check(force=True)
    user.wait("() => document.querySelector('#lossless .ss-panel[data-round] p[role=status]').textContent.includes('shared their dice')")


def test_the_race_of_coupled_runs_says_that_the_text_is_one(visit):
    user = visit("coupled")
    user.go("methods", "#methods .ss-lane")
    assert "the same dice for everybody" in user.text("#methods .ss-side-by-side .ss-note")


def test_without_coupled_recordings_there_is_no_such_part(user):
    assert user.page.locator(f"{ROOT} .ss-samedice").is_hidden()


def test_a_coupled_run_says_in_watch_what_decided(visit):
    user = visit("coupled", "?run=chat-draft-coupled")
    user.wait("() => document.querySelector('#player .ss-caption').textContent.includes('the same dice for target and draft')")
    why = user.page.locator("#player .ss-card .ss-acceptance").all_inner_texts()
    assert any("same dice" in x for x in why) and not any("u =" in x for x in why)


def test_terms_explain_themselves_to_mouse_and_keyboard(user):
    term = user.page.locator("#lossless .ss-lead .ss-term", has_text="residual").first
    term.hover()
    assert user.text("#ss-definition").startswith("residual: max(0, p − q)")
    user.page.mouse.move(5, 5)
    assert user.page.locator("#ss-definition").is_hidden()
    term.focus()
    assert term.get_attribute("aria-describedby") == "ss-definition" and user.page.locator("#ss-definition").is_visible()
    user.page.keyboard.press("Escape")
    assert user.page.locator("#ss-definition").is_hidden()


def test_narrow_dark_and_without_motion(visit):
    user = visit(viewport={"width": 320, "height": 800}, color_scheme="dark")
    user.go("lossless", "#lossless .ss-panel[data-round]")
    for width in (320, 1280):
        user.resize(width)
        assert not user.sideways(), width
    assert draw(user, "right", 10_000)["n"] == "10000"


def test_hostile_tokens_are_text(visit):
    user = visit("hostile", viewport={"width": 320, "height": 800})
    panel = "#lossless .ss-panel[data-round]"
    user.go("lossless", f"{panel} .ss-tokenbtn")
    user.page.locator(f"{panel} fieldset label").filter(has_text="<b>${1}").locator("input").check(force=True)
    shown = "at => [...document.querySelectorAll(at)].some((n) => n.textContent.includes('{{con'))"
    user.wait(shown, f"{panel} .ss-tokenbtn code, {panel} .ss-distname")
    texts = " ".join(
        user.page.eval_on_selector_all(
            "#lossless .ss-distname, #lossless .ss-tokenbtn code, #lossless .ss-choice span", "nodes => nodes.map(n => n.textContent)"
        )
    )
    assert "<scr" in texts or "<img" in texts
    assert user.page.evaluate("() => window.__hit === undefined")
    assert user.page.locator("#lossless script, #lossless img, #lossless b b").count() == 0
    assert not user.sideways()
