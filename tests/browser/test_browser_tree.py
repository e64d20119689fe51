"""A drafted tree: the page tells of several tokens at one position, and calls no token drawn that was not drawn."""

# Chooses the rejected token of a round whose first root token was rejected and a sibling accepted. Returns how many root tokens it has.
CHOOSE = """() => {
  const p = window.Specscope.players[0], root = (r, verdict) => r.drafted.some((d) => d.parent === -1 && d.verdict === verdict);
  const mixed = (r) => r.drafted[0]?.verdict === 'rejected' && root(r, 'accepted');
  const r = p.trace.rounds.findIndex(mixed);
  p.go(p.steps.findLastIndex((s) => s.r === r));
  p.select(0);
  return p.trace.rounds[r].drafted.filter((d) => d.parent === -1).length;
}"""


def test_siblings_are_offered_one_after_the_other(visit):
    user = visit("real", "?run=chat-medusa")
    user.wait("() => window.Specscope.players[0].trace.name === 'chat-medusa'")
    siblings = user.page.evaluate(CHOOSE)
    chosen = "document.querySelector('#player .ss-bars .ss-isdrafted') && !document.querySelector('#player .ss-bars .ss-drawn')"
    user.wait(f"() => document.querySelector('#player .ss-bars').textContent.includes('one after the other') && {chosen}")
    bars = user.text("#player .ss-bars")
    assert siblings > 1 and f"These {siblings} together have" in bars and "Overlap" not in bars
    assert user.page.locator("#player .ss-bars .ss-q").count() == 0
    user.page.locator("#player .ss-whatifpanel summary").click()
    user.wait("() => document.querySelector('#player .ss-whatif').textContent.includes('Several tokens were drafted')")
    assert not user.page.locator("#player .ss-u").is_visible() and user.page.locator("#player .ss-length").count() == 10
    user.page.evaluate("() => window.Specscope.players[0].select('end')")
    user.wait("() => document.querySelector('#player .ss-bars .ss-drawn')")


def test_a_tree_is_no_point_on_the_curves_of_a_chain(visit):
    user = visit("real", "?tab=faster", ready="#faster .ss-posbar")
    user.page.locator("#faster input[value='chat-medusa']").check(force=True)
    user.wait("() => document.querySelector('#faster').textContent.includes('This run drafted trees')")
    assert user.page.locator("#faster .ss-runpoint").count() == 0 and user.page.locator("#faster .ss-diamond").count() == 0
    slider = user.page.locator("#faster input[data-key=load]")
    before = float(user.page.get_attribute("#faster .ss-model", "data-speed"))
    slider.fill("1")
    user.wait(f"() => Number(document.querySelector('#faster .ss-model').dataset.speed) < {before}")
    assert float(user.page.get_attribute("#faster .ss-model", "data-speed")) < 1
