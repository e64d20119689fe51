"""Flash attention for chains in captured passes. No CPU has the kernel, so a stand-in with the same rules takes its place."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from core.models import flash
from core.models.cache import GraphCacheView
from core.models.target import DecoderTarget
from core.sampling.probs import Sampling
from tests.core import tiny
from tests.core.methods.test_statistics_methods import METHODS, SIZE
from tests.core.models.test_fake_gpu import whole_run
from tests.core.models.test_graphs import REPEATING, runs_agree

CPU = torch.device("cpu")


def varlen(q, k, v, cu_q, cu_k, max_q, max_k, *, window_size, enable_gqa=False, aligned="right"):
    """torch.nn.attention.varlen.varlen_attn for one row: the first cu_k[1] keys count, and the last query attends to the last of them."""
    assert window_size == (-1, 0) and enable_gqa and cu_q.dtype == cu_k.dtype == torch.int32
    n, end = int(cu_q[1]), int(cu_k[1])
    assert n == max_q == q.shape[0] and end <= max_k == k.shape[0]
    seen = torch.ones(n, end, dtype=torch.bool).tril(end - n if aligned == "right" else 0)
    rows = [x.transpose(0, 1)[None] for x in (q, k[:end], v[:end])]
    return F.scaled_dot_product_attention(*rows, attn_mask=seen, enable_gqa=True)[0].transpose(0, 1)


@pytest.fixture
def stand_in(monkeypatch):
    """The CPU counts as a device with flash attention, in float32 and float64."""
    monkeypatch.setattr(flash, "SUPPORTED", {("cpu", 4), ("cpu", 8)})
    monkeypatch.setattr(flash, "_varlen", lambda: varlen)
    flash.refusal.cache_clear()
    yield
    flash.refusal.cache_clear()


def refusal(dtype=torch.float32) -> str:
    flash.refusal.cache_clear()
    return flash.refusal(CPU, dtype, 4, 2, 16)


def left(*given, window_size, enable_gqa):
    """A faulty kernel that aligns the causal mask at the upper left."""
    return varlen(*given, window_size=window_size, enable_gqa=enable_gqa, aligned="left")


def everything(q, k, v, cu_q, cu_k, max_q, max_k, *, window_size, enable_gqa):
    """A faulty kernel that reads the whole bucket."""
    return varlen(q, k, v, cu_q, torch.tensor([0, max_k], dtype=torch.int32), max_q, max_k, window_size=window_size, enable_gqa=enable_gqa)


def failing(*given, window_size, enable_gqa):
    raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.\nmore")


def older(q, k, v, cu_q, cu_k, max_q, max_k, *, window_size):
    """A torch whose kernel has no enable_gqa yet."""
    raise AssertionError


@pytest.mark.parametrize(("kernel", "why"), [(varlen, ""), (left, "flash attention is off by "), (everything, "flash attention is off by inf"),
                                             (failing, "flash attention refused: FlashAttention only supports Ampere GPUs or newer."),
                                             (older, "has no flash attention for grouped heads")])
def test_why_a_mask_is_needed(stand_in, monkeypatch, kernel, why):
    monkeypatch.setattr(flash, "_varlen", lambda: kernel)
    assert why in refusal() and bool(why) == bool(refusal())
    assert refusal(torch.bfloat16) == "no flash attention for bfloat16 on cpu"


def test_the_real_kernel_refuses_a_cpu(monkeypatch):
    monkeypatch.setattr(flash, "SUPPORTED", {("cpu", 4)})
    assert refusal()
    flash.refusal.cache_clear()


@pytest.mark.parametrize("split", [[1] * 6, [3, 3], [2, 4]])
@pytest.mark.parametrize("changes", [{}, {"sliding_window": 6}, {"num_kv_heads": 4}], ids=["plain", "sliding", "no groups"])
def test_a_pass_through_a_view(stand_in, monkeypatch, changes, split):
    """With a sliding window that the context exceeds, a mask is used instead."""
    calls = []
    monkeypatch.setattr(flash, "_varlen", lambda: lambda *a, enable_gqa, **k: calls.append(1) or varlen(*a, enable_gqa=enable_gqa, **k))
    model = tiny.decoder(max_positions=200, **changes)
    tokens = torch.tensor([[(5 * i * i + i) % 20 for i in range(40)]])
    with torch.inference_mode():
        want = model(tokens[:, :36])[0]
        cache = model.new_cache(96)
        model(tokens[:, :30], cache)
        assert model.flash_refusal == ""
        calls.clear()
        view, at, got = GraphCacheView(cache, torch.tensor([30]), 64), 30, []
        for n in split:
            got.append(model(tokens[:, at:at + n], view)[0])
            at += n
    torch.testing.assert_close(torch.cat(got), want[30:], rtol=0, atol=1e-9)
    assert len(calls) == (0 if "sliding_window" in changes else len(split) * model.config.num_layers)


@pytest.mark.filterwarnings("ignore")       # the warning that a CPU has no such kernel
@pytest.mark.parametrize("name", METHODS)
def test_every_method_does_the_same_as_directly(stand_in, name):
    to = DecoderTarget(tiny.decoder(num_layers=3, vocab_size=SIZE))
    assert to.model.flash_refusal == ""
    runs_agree(to, METHODS[name](to), [x % SIZE for x in REPEATING], sampling=Sampling(1.1, 5, 0.9, 0.02, 1.3), seed=3, max_new_tokens=30)


@pytest.mark.parametrize("name", ["plain", "draft", "medusa", "early-exit", "eagle"])
def test_it_stays_on_the_device(fake, monkeypatch, name):
    """torch's own operator on the fake GPU, which checks its shapes and devices."""
    monkeypatch.setattr(flash, "SUPPORTED", {(fake[0].type, 4)})
    monkeypatch.setattr(flash, "refusal", lambda *about: "")
    called, real = [], flash.VarlenCausal.attend
    monkeypatch.setattr(flash.VarlenCausal, "attend", lambda self, *a: called.append(1) or real(self, *a))
    whole_run(fake, monkeypatch, name, "chain", Sampling())
    assert called
