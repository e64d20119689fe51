"""The CPU's kernels: near the plain product, each row its own whatever runs beside it, refused where they cannot serve."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from core.models import kernels
from core.models.linear import Linear

EXACT = [name for name in kernels.ROW_EXACT if kernels.available(name)]
NEAR = {"w16a32": 1e-3, "w8a16": 0.03, "w4a16": 0.03}


def four_bit(out: int, n: int, seed: int = 0) -> torch.Tensor:
    """A weight as it comes out of a GGUF's Q4_1: groups of 32 with a scale and a minimum each, rounded to bf16."""
    rng = torch.Generator().manual_seed(seed)
    numbers = torch.randint(0, 16, (out, n // 32, 32), generator=rng)
    numbers[:, :, 0], numbers[:, :, 1] = 0, 15
    scale = 0.005 + 0.01 * torch.rand(out, n // 32, 1, generator=rng)
    return (numbers * scale - 7.3 * scale).view(out, n).bfloat16().float()


def test_this_machine_has_row_exact_kernels():
    assert "w16a32" in EXACT and kernels.available("float5") is False


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("out", "n"), [(96, 64), (48, 1536), (3072, 576)])
def test_a_row_does_not_look_at_its_neighbours(name, out, n, bias):
    weight, rng = four_bit(out, n), torch.Generator().manual_seed(1)
    kernel = kernels.make(name, weight, torch.randn(out, generator=rng) if bias else None)
    x = torch.randn(70, n, generator=rng)
    alone = torch.cat([kernel(x[i:i + 1]) for i in range(len(x))])
    want = F.linear(x, weight, kernel.bias.float() if bias and name != "w16a32" else None)
    if not (bias and name == "w16a32"):
        assert (alone.float() - want).abs().max() < NEAR[name] * want.abs().max()
    for k in (1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 21, 64, 70):
        assert torch.equal(kernel(x[:k]), alone[:k]), k
        assert torch.equal(kernel(x[70 - k:].clone()), alone[70 - k:]), k
    assert torch.equal(kernel(x.view(2, 35, n)).view(70, out), alone)
    other = x.clone()
    other[1:] *= 50                                                         # one scale for the whole pass would show here
    assert torch.equal(kernel(other)[:1], alone[:1])


@pytest.mark.parametrize("name", EXACT)
def test_one_thread_gives_the_bits_of_two(name):
    kernel, x = kernels.make(name, four_bit(96, 64), None), torch.randn(5, 64, generator=torch.Generator().manual_seed(2))
    before = torch.get_num_threads()
    try:
        got = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            got.append(kernel(x))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*got)


@pytest.mark.skipif("w4a16" not in EXACT, reason="no 4-bit kernel here")
def test_four_bits_find_the_grid_again_and_leave_other_weights_to_eight():
    weight = four_bit(64, 96)
    packed = kernels.W4A16(weight, None)
    ones = torch.eye(96)
    assert (packed(ones).float().T - weight).abs().max() < 0.006 * weight.abs().max()
    assert packed.nbytes < 0.4 * 2 * weight.numel()
    other = torch.randn(64, 96, generator=torch.Generator().manual_seed(3))
    with pytest.raises(RuntimeError, match="4 bits"):
        kernels.W4A16(other, None)
    assert isinstance(kernels.make("w4a16", other, None), kernels.W8A16)
    assert isinstance(kernels.make("w4a16", four_bit(30, 64), None), kernels.W8A16)         # a shape that the kernel does not take


def test_weights_beyond_float16_are_refused():
    with pytest.raises(RuntimeError, match="float16"):
        kernels.W16A32(torch.full((16, 32), 1e5), None)


class Careless(kernels.Kernel):
    """Adds in another order for one, two and seven rows, as FBGEMM does under AVX2."""
    name, activations = "careless", torch.float32
    bad = (1, 2, 7)

    def __init__(self, weight, bias):
        self.weight = weight

    def multiply(self, x):
        y = F.linear(x.double(), self.weight.double()).float()
        return y * (1 + 1e-5) if x.shape[0] in self.bad else y


class Hopeless(Careless):
    bad = range(1000)

    def multiply(self, x):
        return F.linear(x, self.weight) * (1 + 1e-5 * x.shape[0])


def test_rows_are_padded_to_a_number_that_serves():
    rows = kernels.safe_rows(Careless, 1)
    assert rows[1] == rows[2] == rows[3] == 3 and rows[7] == 8 and rows[5] == 5 and kernels.MOST_ROWS in rows
    kernel, x = Careless(torch.randn(8, 4), None), torch.randn(9, 4)
    alone = torch.cat([kernel(x[i:i + 1]) for i in range(9)])
    assert all(torch.equal(kernel(x[:k]), alone[:k]) for k in range(1, 10))


def test_a_kernel_that_no_padding_helps_is_not_offered(monkeypatch):
    monkeypatch.setitem(kernels.KERNELS, "hopeless", Hopeless)
    assert kernels.safe_rows(Hopeless, 1) == {} and not kernels.available("hopeless")


def test_a_layer_hands_its_weight_over():
    layer = Linear(64, 48, dtype=torch.float32)
    layer.weight.data = four_bit(48, 64)
    want = layer(torch.ones(1, 64)).detach()
    layer.pack("w16a32", keep_weight=True)
    assert layer.weight is not None and layer.packed_bytes == 2 * 48 * 64
    torch.testing.assert_close(layer(torch.ones(1, 64)), want, rtol=1e-3, atol=1e-3)
    again = layer.kernel
    layer.pack("w8a16")
    assert layer.kernel is again                                            # packed once
