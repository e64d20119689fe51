"""The address and the language that a page is opened with are checked."""

from types import SimpleNamespace

from spec_ui.page import build
from tests.spec_ui.fake_engine import FakeEngine


def test_the_address_of_the_whole_page_is_checked(folder):

    demo = build(FakeEngine(phase="loading"), folder)
    opened = next(f.fn for f in demo.fns.values() if getattr(f.fn, "__name__", "") == "opened")

    def ask(**query):
        return opened(query.get("lang"), SimpleNamespace(query_params=query))

    plain, bad = ask(), ask(lang="__import__", tab="admin", run="x" * 5000)
    assert len(plain) == len(bad)
    assert not any(isinstance(x, str) for x in plain)
    russian = ask(lang="ru", tab="lesson", run="chat-draft")
    assert russian[-1]["value"] == "ru" and russian[-1]["label"] == "Язык" and russian[-2].selected == "lesson" and "Маленькая модель" in russian[0]
