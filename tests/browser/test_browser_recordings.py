"""The chips and the recordings: a chip shows its recording, and the controls show the settings that the recording was made with."""

import pytest

from tests.spec_ui.fake_engine import FakeEngine

NAME = "() => new URLSearchParams(location.search).get('run')"


LOOKUP = "Prompt lookup (n-gram)"


def panel(user) -> dict:
    chosen = "s => document.querySelector(`${s} label:has(input:checked)`)?.textContent.trim()"
    value = "s => document.querySelector(s).value"
    boxes = {"prompt": "#prompt textarea", "seed": "#seed input"}
    boxes |= {name.replace("-", "_"): f"#{name} input[type=number]" for name in ("draft-len", "temperature", "top-p", "max-new")}
    ask = user.page.evaluate
    return {name: ask(chosen, f"#{name}") for name in ("example", "method")} | {name: ask(value, box) for name, box in boxes.items()}


def stands(user, name: str, **said) -> None:
    user.wait(f"name => ({NAME})() === name", name)
    user.wait("text => document.querySelector('#prompt textarea').value === text", f"prompt of {name}")
    now = panel(user)
    assert {k: now[k] for k in said} == said


def choose(user, group: str, label: str) -> None:
    user.page.locator(group).get_by_label(label, exact=True).check(force=True)


@pytest.mark.parametrize("phase", ["loading", "ready"])
def test_a_chip_shows_its_recording_and_asks_the_server_for_its_file_alone(visit, serve, phase):
    user = visit(serve("two methods", FakeEngine(phase=phase)))
    asked = len(user.requests)
    choose(user, "#method", LOOKUP)
    stands(user, "chat-lookup", example="chat", draft_len="6", temperature="0", top_p="1", max_new="30", seed="11")
    assert "greedy" in user.text("#player .ss-caption") and "This is a recorded run" in user.text("#notice")
    choose(user, "#example", "edit")
    stands(user, "edit-lookup", method=LOOKUP, temperature="0.4", draft_len="4")
    choose(user, "#example", "story")
    user.says("#notice", "the run shown is another one. Press Run")
    assert panel(user)["prompt"].startswith("Tell a short story") and "prompt of edit-lookup" in user.text("#player .ss-prompt"), "the player stays"
    files = [r for r in user.requests[asked:] if "/file=" in r]
    assert [f.rsplit("/", 1)[1] for f in files if "-lookup" in f] == ["chat-lookup.json", "edit-lookup.json"]
    choose(user, "#example", "edit")
    stands(user, "edit-lookup", example="edit")


@pytest.mark.parametrize("phase", ["loading", "ready"])
def test_a_recording_from_methods_and_from_the_address_sets_the_controls(visit, serve, phase):
    site = serve("two methods", FakeEngine(phase=phase))
    user = visit(site)
    user.go("methods", "#methods .ss-method")
    user.page.locator(".ss-method[data-method=lookup] .ss-link", has_text="Open in Watch").last.click()
    user.page.wait_for_selector("#player .ss-tok:visible")
    stands(user, "edit-lookup", example="edit", method=LOOKUP, temperature="0.4")
    user = visit(site, "?run=chat-lookup")
    user.wait("text => document.querySelector('#prompt textarea').value === text", "prompt of chat-lookup")
    assert panel(user)["method"] == LOOKUP and panel(user)["draft_len"] == "6" and panel(user)["seed"] == "11"
    user.page.locator("#seed input").fill("5")
    user.page.evaluate("() => window.Specscope.setLanguage('ru')")
    user.wait("() => document.querySelector('#player .ss-caption').textContent.startsWith('Запис')")
    assert panel(user)["seed"] == "5", "another language leaves the controls alone"
    choose(user, "#method", "Draft model")
    stands(user, "chat-draft")
    user.wait("() => document.querySelector('[data-setting=tree]')?.value === '2x1'")
    assert user.page.locator("[data-setting=ngram_max]").input_value() == "3"


def test_a_live_run_stays_where_it_is(visit, serve):
    user = visit(serve("two methods", FakeEngine(pace=0.1)))
    user.page.locator("#run").click()
    user.wait("() => document.querySelector('.ss-caption').textContent.startsWith('Live run')")
    choose(user, "#example", "edit")
    user.wait("() => document.querySelector('#prompt textarea').value.startsWith('Rewrite this text')")
    user.wait("() => document.querySelector('#player .ss-mount').dataset.complete === 'plain'")
    choose(user, "#method", LOOKUP)
    user.says("#notice", "Press Run to decode")
    assert user.text(".ss-caption").startswith("Live run") and user.page.evaluate(NAME) is None
