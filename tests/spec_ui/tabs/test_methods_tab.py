"""What the Methods tab gets from the server: the sizes of the drafts that ship, and the order of the cards."""

from core.methods import catalog
from spec_ui.page import build
from spec_ui.tabs import methods
from tests.spec_ui.fake_engine import FakeEngine


def test_sizes_of_the_drafts_that_ship(tmp_path):
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "model.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "draft" / "config.json").write_bytes(b"{}")
    assert methods.sizes(tmp_path) == {"draft": 10}
    assert methods.sizes(tmp_path / "none") == {}


def test_the_cards_come_in_the_catalogs_order(folder):
    part = next(b for b in build(FakeEngine(), folder).blocks.values() if b.elem_id == "methods")
    assert part.props["order"] == list(catalog.LABELS)
