"""`--dtype auto` on a CPU: the fastest arithmetic by measurement, row-exact where it is near, within its distance from float32, and kept."""
from __future__ import annotations

import json

import pytest
import torch

from core.checkpoints import arithmetic, load
from core.checkpoints.arithmetic import Choice
from core.errors import EnvironmentFailure, UserError
from core.models import kernels
from tests.core import tiny
from tests.core.models.test_exact_attention import SIZES
from tests.core.models.test_kernels import four_bit

IDS = [i % 32 for i in range(40)]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(arithmetic, "SMALL", 0)


def model():
    return tiny.decoder(3, torch.float32, **SIZES)


def times(monkeypatch, **per_pass):
    """Pretend that passes in these arithmetics take so long, whatever their number of tokens."""
    monkeypatch.setattr(arithmetic, "_passes", lambda part, scale: {k: per_pass.get(part.arithmetic, 9.0) for k in arithmetic.LENGTHS})


def test_the_flat_curve_wins_over_the_fast_pass():
    flat = {k: 1.0 for k in arithmetic.LENGTHS}
    steep = {k: 0.9 * k for k in arithmetic.LENGTHS}
    assert arithmetic.expected(flat) > arithmetic.expected(steep) == pytest.approx(1 / 0.9)


def test_row_exact_wins_within_a_tenth_and_not_beyond():
    def tried(exact, other):
        return {"w16a32": {"pass_s": {}, "tokens_per_s": exact, "row_exact": True},
                "bfloat16": {"pass_s": {}, "tokens_per_s": other, "row_exact": False}, "w4a16": {"refused": "no"}}
    assert arithmetic.order(tried(10.0, 10.9))[0] == "w16a32" and arithmetic.order(tried(10.0, 11.1)) == ["bfloat16", "w16a32"]


def test_measuring_leaves_the_model_as_it_was():
    whole = model()
    before = {name: p.clone() for name, p in whole.named_parameters()}
    tried = arithmetic.measure(whole)
    assert {"w16a32", "float32"} <= set(tried) and tried["w16a32"]["row_exact"] and not tried["float32"]["row_exact"]
    assert all(set(t["pass_s"]) == {str(k) for k in arithmetic.LENGTHS} and min(t["pass_s"].values()) > 0 for t in tried.values())
    assert whole.kernel is None and all(torch.equal(p, before[name]) and p.dtype == torch.float32 for name, p in whole.named_parameters())


def test_the_choice_is_kept_for_the_same_weights_and_machine(monkeypatch):
    times(monkeypatch, w16a32=1.0)
    made, choice = arithmetic.choose(model, IDS, "some weights")
    assert (choice.name, made.arithmetic, made.row_exact) == ("w16a32", "w16a32", True) and choice.tried["w16a32"]["nats"] < 1e-3
    assert arithmetic.known("some weights") == choice and arithmetic.known("others") is None
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert arithmetic.known("some weights") is None


def test_a_choice_made_in_a_hurry_is_not_kept(monkeypatch):
    times(monkeypatch, w16a32=1.0)
    monkeypatch.setattr(arithmetic, "SPENT", -1.0)
    made, choice = arithmetic.choose(model, IDS, "some weights")
    assert made.arithmetic == "float32" and "skipped" in choice.tried["w16a32"] and arithmetic.known("some weights") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "w16a32"}', '{"name": "w3a3", "why": "", "tried": {}}'])
def test_a_damaged_or_foreign_file_is_measured_anew(text):
    file = arithmetic._file("some weights")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert arithmetic.known("some weights") is None


def test_too_far_from_float32_is_refused(monkeypatch):
    times(monkeypatch, w8a16=0.1, w16a32=1.0)
    monkeypatch.setattr(arithmetic, "nats", lambda made, ids, want: 0.02 if made.arithmetic == "w8a16" else 0.0)
    made, choice = arithmetic.choose(model, IDS, "some weights")
    assert made.arithmetic == "w16a32" and "0.020 nats" in choice.tried["w8a16"]["refused"] and choice.why == "the fastest here, and row-exact"


def test_nothing_but_float32_is_left(monkeypatch):
    times(monkeypatch, float32=3.0)
    monkeypatch.setattr(arithmetic, "nats", lambda made, ids, want: 1.0)
    made, choice = arithmetic.choose(model, IDS, "some weights")
    assert made.arithmetic == choice.name == "float32" and torch.equal(made(torch.tensor([IDS])), model()(torch.tensor([IDS])))


def test_nats_are_a_mean_divergence():
    one, two = model(), tiny.decoder(4, torch.float32, **SIZES)
    ids = torch.tensor([IDS])
    with torch.inference_mode():
        want = one(ids)[0].log_softmax(-1)
    assert arithmetic.nats(one, ids, want) == pytest.approx(0, abs=1e-6) and arithmetic.nats(two, ids, want) > 0.1


@pytest.mark.skipif(not kernels.available("w4a16"), reason="no 4-bit kernel here")
def test_four_bits_are_tried_only_where_the_weights_come_from_them():
    assert "w4a16" not in arithmetic.measure(model())
    from_gguf = model()
    for layer in from_gguf.layers:
        for part in (layer.qkv, layer.o, layer.gate_up, layer.down):
            part.weight.data = four_bit(*part.weight.shape)
    assert "pass_s" in arithmetic.measure(from_gguf)["w4a16"]


def test_loading_chooses_records_and_remembers(monkeypatch, tmp_path):
    folder = tiny.checkpoint(tmp_path / "target", **SIZES)
    times(monkeypatch, w16a32=1.0)
    pair = load.load(target=str(folder), device="cpu")
    assert pair.target.arithmetic == "w16a32" and pair.target.row_exact and pair.notes["arithmetic"]["name"] == "w16a32"
    json.dumps(pair.notes)
    monkeypatch.setattr(arithmetic, "choose", None)
    again = load.load(target=str(folder), device="cpu")
    assert again.notes["arithmetic"] == pair.notes["arithmetic"] and again.target.arithmetic == "w16a32"


def test_a_model_too_large_for_float32_is_not_measured(monkeypatch, tmp_path):
    from core.checkpoints import memory
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(arithmetic, "choose", None)
    pair = load.load(target=str(tiny.checkpoint(tmp_path / "target", **SIZES)), device="cpu")
    assert pair.target.arithmetic in ("bfloat16", "float32") and "arithmetic" not in pair.notes


@pytest.mark.parametrize("name", [n for n in kernels.ROW_EXACT if kernels.available(n)])
def test_an_arithmetic_by_name(tmp_path, name):
    pair = load.load(target=str(tiny.checkpoint(tmp_path / "target", **SIZES)), dtype=name, device="cpu")
    assert pair.target.arithmetic == name and pair.target.dtype == torch.float32 and "arithmetic" not in pair.notes


def test_refused_in_a_sentence(monkeypatch, tmp_path):
    from core.models import device
    with pytest.raises(UserError, match="w16a32 runs on a CPU only"):
        device.pick_kernel("w16a32", torch.device("cuda"))
    monkeypatch.setattr(kernels, "available", lambda name: False)
    with pytest.raises(EnvironmentFailure, match="no kernel for --dtype w8a16"):
        device.pick_dtype("w8a16", torch.device("cpu"))


def test_a_choice_as_the_trace_has_it():
    assert vars(Choice("float32", "why")) == {"name": "float32", "why": "why", "tried": {}}
