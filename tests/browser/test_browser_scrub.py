"""A run of 200 rounds: stepping, playing and changing it send no request; how long each step takes to draw is measured."""

import pytest

from tests.browser.folders import LONG_ROUNDS as ROUNDS

# Goes to one step and waits for the two frames in which it is drawn.
STEP = """async (k) => {
  const player = window.Specscope.players[0], frame = () => new Promise((done) => requestAnimationFrame(done));
  player.go(k);
  await frame();
  await frame();
  if (Number(document.querySelector('#player .ss-mount').dataset.round) !== player.steps[k].r) throw new Error(`step ${k} was not drawn`);
}"""


def walk(page, every: int) -> dict:
    """Draws every n-th step and measures the milliseconds of the page's thread for each: of script, and of all work, style and layout included.
    The clock is the thread's own processor time, so that a busy machine does not count."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> tuple[float, float]:
        got = {m["name"]: m["value"] * 1000 for m in session.send("Performance.getMetrics")["metrics"]}
        return got["ScriptDuration"], got["TaskDuration"]

    steps, script, all_ = page.evaluate("() => window.Specscope.players[0].steps.length"), [], []
    for k in range(0, steps, every):
        before = spent()
        page.evaluate(STEP, k)
        after = spent()
        script.append(after[0] - before[0])
        all_.append(after[1] - before[1])
    session.detach()
    return {
        "steps": steps,
        "drawn": len(script),
        "script_median": sorted(script)[len(script) // 2],
        "script_worst": max(script),
        "all_worst": max(all_),
    }


@pytest.fixture
def user(visit, request):
    """A visitor to a long run; with the chart library where the test's parameter says so."""
    plotly = getattr(request, "param", False)
    user = visit("long", plotly=plotly, reduced_motion="no-preference")
    user.page.wait_for_selector("#player .ss-plot .main-svg" if plotly else "#player .ss-plot svg")
    user.model_ready()
    user.quiet()
    return user


@pytest.mark.parametrize("user", [True], indirect=True, ids=["with the chart"])
def test_walking_playing_and_what_if_ask_the_server_for_nothing(user):
    page = user.page
    assert page.get_attribute("#player .ss-scrub", "aria-valuemax") == str(ROUNDS - 1)
    before = len(user.requests)
    found = walk(page, 19)
    assert found["steps"] > ROUNDS and found["drawn"] > 50
    print(f"\n{found}")
    page.locator("#player .ss-speed").select_option("speed:4")
    page.evaluate("() => window.Specscope.players[0].go(0)")
    page.locator("#player .ss-play").click()
    user.wait("() => Number(document.querySelector('#player .ss-mount').dataset.round) > 5")
    page.locator("#player .ss-play").click()
    page.evaluate("() => { const p = window.Specscope.players[0]; p.go(p.steps.findIndex((s) => s.phase === 'acceptance')); }")
    page.locator("#player .ss-whatifpanel summary").click()
    page.wait_for_selector("#player .ss-distbar")
    page.locator("#player .ss-u").fill("0.9")
    page.locator("#player .ss-roll").click()
    page.wait_for_selector("#player .ss-rolls:visible")
    page.locator("#player .ss-length").last.click()
    page.locator("#player .ss-ticks").scroll_into_view_if_needed()
    box = page.locator("#player .ss-ticks").bounding_box()
    for share in (0.1, 0.5, 0.9):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] - 2)
        assert abs(int(user.at()[0]) - share * ROUNDS) <= 6
    assert user.requests[before:] == []


def test_tabs_ask_for_a_recording_once(user):
    page = user.page
    tabs = {"lossless": "#lossless .ss-tokenbtn", "methods": "#methods .ss-lane", "lesson": "#lesson .ss-stage .ss-tok"}
    for tab, sign in tabs.items():
        user.go(tab, sign)
    assert sum("chat-draft.json" in r for r in user.requests) == 1, "one recording, fetched once for all tabs"
    before = len(user.requests)
    for tab, sign in tabs.items():
        user.go(tab, sign)
    page.keyboard.press("ArrowRight")
    page.locator('#lesson [data-act="next"]:visible').first.click()
    user.quiet()
    assert user.requests[before:] == []


@pytest.mark.long
@pytest.mark.parametrize("user", [True], indirect=True, ids=["with the chart"])
def test_every_step_is_drawn_within_50_ms_of_script_time(user):
    found = walk(user.page, 1)
    print(f"\n{found}")
    assert found["drawn"] == found["steps"] and found["script_worst"] < 50


# The places of all tokens of the finished text; `flat`: with the blocks of lines joined to one.
PLACES = """async (flat) => {
  const player = window.Specscope.players[0], frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  player.go(player.steps.length - 1);
  await frame();
  const box = document.querySelector('#player .ss-text');
  box.scrollTop = 0;
  if (flat) box.querySelectorAll('.ss-lines').forEach((node) => { node.className = 'ss-lines ss-held'; });
  const at = box.getBoundingClientRect(), place = (r) => [Math.round(r.left - at.left), Math.round(r.top - at.top)];
  return [...box.querySelectorAll('.ss-tok')].map((t) => [...t.getClientRects()].map(place));
}"""


def test_blocks_of_lines_do_not_show(user):
    page = user.page
    for size in (1280, 1250, 360, 330):
        user.resize(size, 800)
        in_blocks, blocks = page.evaluate(PLACES, False), page.locator("#player .ss-lines:not(.ss-held)").count()
        assert blocks > 3 and in_blocks == page.evaluate(PLACES, True)
        page.evaluate("() => window.Specscope.players[0].go(0)")


# The tokens in sight in the text's box at step k and their places, measured from the first; `flat`: with the blocks of lines joined to one.
SEEN = """async ([k, flat]) => {
  const player = window.Specscope.players[0], frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  player.go(k);
  await frame();
  const box = document.querySelector('#player .ss-text'), at = box.getBoundingClientRect();
  if (flat) box.querySelectorAll('.ss-lines').forEach((node) => { node.className = 'ss-lines ss-held'; });
  const seen = [...box.querySelectorAll('.ss-tok')].map((t) => [t.textContent, t.querySelector('.ss-mark').getBoundingClientRect()])
    .filter(([, r]) => r.top >= at.top && r.bottom <= at.bottom).map(([text, r]) => [text, Math.round(r.left - at.left), Math.round(r.top - at.top)]);
  if (flat) box.querySelectorAll('.ss-lines').forEach((node, n) => { node.className = HELD[n]; });
  else window.HELD = [...box.querySelectorAll('.ss-lines')].map((node) => node.className);
  return seen.map(([text, left, top]) => [text, left, top - seen[0][2]]);
}"""


def test_what_is_seen_flows_as_one_text_wherever_the_reader_jumps(user):
    page = user.page
    steps = page.evaluate("() => window.Specscope.players[0].steps.length")
    assert page.locator("#player .ss-lines").count() > 10
    for k in (0, 5, steps - 1, 2, steps // 2, steps // 2 + 3, steps // 3, steps // 3 - 40, steps - 4, 700, 60):
        seen = page.evaluate(SEEN, [k, False])
        assert len(seen) > 20 and seen == page.evaluate(SEEN, [k, True]), f"step {k}"
